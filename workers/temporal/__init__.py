"""How processes reach Temporal: connection, payloads, encryption, heartbeats, failures.

Starting a server belongs in `workers.server`.
"""
