"""The scripted model: a playbook, how it is written, and the provider that speaks it.

The HTTP simulator is in `activities.adapters.models.simulator`.
"""
