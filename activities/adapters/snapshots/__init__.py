"""Snapshots on this host's disk: made whole or not at all, used by name, removed when unused."""
