"""Parses bash: a text becomes a `shell_tree` of the domain, or is unreadable."""
