"""Which hosts and addresses set-up commands may reach.

The proxy that enforces it is in `activities.adapters.sandbox.egress`.
"""
