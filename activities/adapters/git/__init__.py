"""Git as an adapter: the hardened command, the user's repository, the host's repository."""
