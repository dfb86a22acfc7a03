"""Judging a plan: its graph, claims and texts, and its division into changesets.

`workflows.domain.plan` defines the fields of a plan, with their forms and lengths.
`workflows.policy.session.readiness` decides when a task may start.
"""
