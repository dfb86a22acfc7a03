"""The one way out of a sandbox: a socket inside and a proxy that reaches the listed hosts only.

Which hosts are allowed is decided in `workflows.policy.network`.
"""
