"""Jobs that the command line does in the person's own process, with the person's own rights.

Each function wires the adapters for one job, such as reading a repository. What a worker does for a
session is in `workers.wiring` and `workers.hosting`; messages for a person are in `starter`.
"""
