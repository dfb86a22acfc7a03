"""Routes from roles to models as the command line knows them: defaults, faults, the list.

Calls to models are made by `activities.model_calls`.
"""
