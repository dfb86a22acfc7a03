"""Decisions of the agent loop: what an answer leads to, limits, model failures, opening messages.

Whether a tool call is allowed is decided in `workflows.policy.commands`.
"""
