"""The terminal and the process around a command: output, JSON documents, errors, exit codes.

This package knows of sessions only the labels that every JSON document carries.
"""
