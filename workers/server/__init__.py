"""The processes of one machine: the bundled Temporal server, its supervisor, their children.

How soon an ended process is started again is in `restarted_processes`. What a worker serves is
wired in `workers.wiring`.
"""
