"""The processes of one machine: the bundled Temporal server, its supervisor, their children.

What a worker serves is wired in `workers.wiring`.
"""
