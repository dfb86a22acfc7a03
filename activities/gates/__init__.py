"""Gates: found in a repository, run in the sandbox, and their output read.

Comparing a result with the baseline is `workflows.policy.gates.gate_comparison`.
"""
