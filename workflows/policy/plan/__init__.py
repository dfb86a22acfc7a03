"""Judging a plan: its graph, claims and texts, and the changesets that it falls into.

The fields of a plan, with their forms and lengths, are in `workflows.domain.plan`. When a task
may start is decided in `workflows.policy.session.readiness`.
"""
