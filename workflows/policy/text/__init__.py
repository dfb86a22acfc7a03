"""What may stand in a text: which characters are shown as they are, and what looks like a secret.

What is wrong with a plan's texts belongs in `workflows.policy.plan`.
"""
