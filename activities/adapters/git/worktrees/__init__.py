"""Worktrees, from their creation to the tree that is collected from them.

Commits and refs are in the package above.
"""
