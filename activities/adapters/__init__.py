"""Implementations of the ports: the only place that imports an SDK, git or a subprocess."""
