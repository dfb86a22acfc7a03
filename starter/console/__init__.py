"""The terminal and the process around a command: output, JSON documents, errors, exit codes.

Nothing here knows what a session is beyond the labels that every JSON document carries.
"""
