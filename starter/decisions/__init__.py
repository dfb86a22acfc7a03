"""A person's decisions before they are sent: checked, read from a file, or made by a rule.

What a decision does to a session is decided in `workflows.policy.session.decisions`.
"""
