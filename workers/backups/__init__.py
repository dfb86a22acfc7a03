"""Backups: everything that open sessions need, in one file, also while they run."""
