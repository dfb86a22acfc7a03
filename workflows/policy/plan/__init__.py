"""Judging a plan: its shape, graph, claims and texts, and the changesets that it falls into.

When a task of it may start is decided in `workflows.policy.session.readiness`.
"""
