"""Judging finished work: verdicts and the collected diff.

`workflows.policy.gates` judges gate results. Reading diffs belongs in `activities`.
"""
