"""Reads from a project's own files how to set it up and test it: toolchains, set-up, gates.

`project_look` combines all into one proposal, with notes on what CI runs. Pure: file contents in, a
proposal for a person out. Nothing is run, and no disk is read.
"""
