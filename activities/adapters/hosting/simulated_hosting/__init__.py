"""A simulated hosting service: the part of three REST APIs that Blue Flame uses, on this machine.

For tests and trials. It is not a real service: it keeps its pull requests in memory, checks no
rights beyond the token, and merges nothing.
"""
