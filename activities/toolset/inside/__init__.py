"""The file tools: the only modules that are shipped into the sandbox and run there.

They import the standard library and each other, and nothing else.
"""
