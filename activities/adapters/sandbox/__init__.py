"""Confined commands: bubblewrap, the explicit lack of a sandbox, and what both need."""
