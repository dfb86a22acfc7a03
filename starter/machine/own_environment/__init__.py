"""What a person's machine has for a project: toolchains, package indexes, and lines to allow them.

Only looks at names and settings; nothing is run.
"""
