"""A sandbox's only way out: a socket inside, and a proxy that reaches only the listed hosts.

`workflows.policy.network` decides which hosts are allowed.
"""
