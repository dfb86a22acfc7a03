"""Whether an agent's tool call or shell command may run, judged on its parsed tree.

The parser is in `activities.adapters.shell`; the sandbox bounds what a command can reach.
"""
