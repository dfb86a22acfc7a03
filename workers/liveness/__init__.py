"""Signs of life of worker processes: for systemd, for container engines, and for `health`.

What belongs here says whether a process on this machine works. What the server sees of all workers
is in `workers.telemetry.fleet`.
"""
