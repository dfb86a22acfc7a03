"""Decisions on work of the past: to go back to one of its turns, or to take it back after a merge.

Not here: decisions on work that waits or runs (`decisions`).
"""
