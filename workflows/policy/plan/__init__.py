"""Judging a plan: its shape, graph, claims and texts, and its division into changesets.

`workflows.policy.session.readiness` decides when a task may start.
"""
