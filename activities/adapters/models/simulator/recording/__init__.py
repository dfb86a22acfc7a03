"""A proxy to the real providers that records what passes as a playbook.

Requests and answers pass unchanged. Blue Flame's own adapters read the answers, so a recording
holds what a session would have read, and there is no second parser.
"""
