"""Proposing a session's work on a hosting service: which pull requests, and with what text.

How a service is spoken to belongs in `activities.adapters.hosting`.
"""
