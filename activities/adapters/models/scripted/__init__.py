"""The scripted model: the playbook, its file format, and the provider that plays it.

The HTTP simulator is in `activities.adapters.models.simulator`.
"""
