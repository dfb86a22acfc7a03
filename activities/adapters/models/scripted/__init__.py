"""The scripted model: a playbook, how it is written, which answer is played, and the provider.

The HTTP simulator is in `activities.adapters.models.simulator`.
"""
