"""Set-up of a project's tree: run once for what it reads, and shared by all trees that it fits.

What is kept on disk, and how, is in `adapters.snapshots`.
"""
