"""Set-up of a project: run once for its inputs, and shared by all trees that it fits.

`adapters.snapshots` decides what is kept on disk, and how.
"""
