"""Judging finished work: gate results against the baseline, verdicts and the collected diff.

Running gates and reading diffs belongs in `activities`.
"""
