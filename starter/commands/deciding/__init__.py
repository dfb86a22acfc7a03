"""Commands that start a session or change its course, one module for each group.

Those that only look are in `viewing`.
"""
