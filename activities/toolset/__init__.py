"""The tools that a model may call: their schemas, their strict arguments, and their running.

No adapter is known here. The program that runs inside the sandbox is in `inside`.
"""
