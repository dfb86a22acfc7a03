"""A worktree from its making to the tree that is collected from it.

Commits and refs are in the folder above.
"""
