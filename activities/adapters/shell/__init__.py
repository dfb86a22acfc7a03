"""Reads bash: a text becomes the neutral tree of `workflows.domain.command`, or is unreadable."""
