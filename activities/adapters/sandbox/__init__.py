"""Commands confined: bubblewrap, the honest absence of a sandbox, and what both need.

What a command finds inside, and what is hidden from it, is in `bwrap_arguments`.
"""
