"""Which hosts and addresses set-up commands may reach.

The proxy that enforces this is in `activities.adapters.sandbox.egress`.
"""
