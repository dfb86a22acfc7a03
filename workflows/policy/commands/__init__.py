"""Whether an agent's tool call or shell command may run, judged on its parsed tree.

The parser is in `activities.adapters.shell`; what a command can reach is bounded by the sandbox.
"""
