"""Snapshots on this host's disk: created whole or not at all, used by name, removed when unused."""
