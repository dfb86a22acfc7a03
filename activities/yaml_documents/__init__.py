"""YAML documents read into frozen models, with the line and column of every complaint.

No module here opens a file.
"""
