"""What a person's machine has for a project: toolchains, package indexes, and lines to allow them.

It only reads names and settings; it runs nothing.
"""
