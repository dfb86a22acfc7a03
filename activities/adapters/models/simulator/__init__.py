"""A server that speaks the providers' dialects and answers from a playbook.

For tests, benchmarks and experiments: the official SDKs talk to it over HTTP. It is as strict as
the real servers about what comes back (signatures, pairs of calls and results, empty blocks),
marks each answer as simulated, and runs without the workflow engine.
"""
