"""The parts of a session: its inbox of decisions, its preparation, its waves, its continuation.

The workflow itself is `workflows.session`; its rules are in `workflows.policy`.
"""
