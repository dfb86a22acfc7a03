"""Bringing a session's work to others: its pull requests, kept by a workflow of their own.

What is wanted is decided in `workflows.policy.delivery`.
"""
