"""Judging finished work: gate results against the baseline, verdicts, the collected diff, secrets.

Running gates and reading diffs belongs in `activities`.
"""
