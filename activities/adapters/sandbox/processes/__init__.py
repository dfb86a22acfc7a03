"""Processes on the host: started, read, measured, limited and ended with their children.

What a confined command may see is decided in the folder above.
"""
