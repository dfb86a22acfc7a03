"""What a project's own files say of how to set it up and test it: toolchains, set-up, gates.

Pure: contents of files in, a proposal for a person out. Nothing is run, and no disk is looked at.
"""
