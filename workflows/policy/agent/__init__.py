"""Decisions of the agent loop: what follows an answer, limits, model failures, opening messages.

`workflows.policy.commands` decides whether a tool call is allowed.
"""
