"""A person's decisions before they are sent: checked, read from a file, or made by a rule.

`workflows.policy.decision.decisions` defines what a decision does to a session.
"""
