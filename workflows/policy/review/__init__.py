"""Judging finished work: verdicts and the collected diff.

What gates say is `workflows.policy.gates`' to judge. Reading diffs belongs in `activities`.
"""
