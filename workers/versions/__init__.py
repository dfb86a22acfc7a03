"""Builds of the workflow code: their ids, which build serves which session, and kept old code.

A session runs on the build that started it to its end (Temporal's Worker Deployment Versioning).
"""
