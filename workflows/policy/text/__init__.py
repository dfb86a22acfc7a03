"""What a text may contain: which characters are shown as they are, and what looks like a secret.

Faults of a plan's texts belong in `workflows.policy.plan`.
"""
