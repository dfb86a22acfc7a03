"""Confined commands: bubblewrap, the explicit lack of a sandbox, and what both need.

`bwrap_arguments` defines what a command finds inside, and what is hidden from it.
"""
