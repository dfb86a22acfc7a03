"""The processes of one machine: the bundled Temporal server, its supervisor, their children.

`workers.wiring` defines what a worker serves.
"""
