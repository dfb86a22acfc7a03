"""What a worker of role `host` needs: data directory, privileges, cgroups, clean-up.

The sandbox itself is in `activities.adapters.sandbox`.
"""
