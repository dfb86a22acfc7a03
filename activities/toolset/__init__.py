"""The tools that a model may call: their schemas, their strict arguments, and how they run.

This package knows no adapter. The program that runs inside the sandbox is in `inside`.
"""
