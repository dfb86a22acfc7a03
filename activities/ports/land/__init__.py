"""What role `land` needs of hosting services and of places for messages.

The person's repository is in `activities.ports.user_repository`.
"""
