"""Snapshots on disk."""
