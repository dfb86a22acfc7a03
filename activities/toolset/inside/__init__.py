"""The file tools: the only modules that are sent into the sandbox and run there.

They import only the standard library and each other.
"""
