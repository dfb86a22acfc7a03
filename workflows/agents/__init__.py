"""The parts of an agent: its conversation, its money, and its start and end as a child.

The workflow itself is `workflows.agent`; its rules are in `workflows.policy.agent`.
"""
