"""Judging finished work: verdicts, the collected diff, secrets.

What gates say is `workflows.policy.gates`' to judge. Reading diffs belongs in `activities`.
"""
