"""What a project's own files say of how to set it up and test it: toolchains, set-up, gates.

`project_look` makes one proposal of them all, with notes on what CI runs. Pure: contents of files
in, a proposal for a person out. Nothing is run, and no disk is looked at.
"""
