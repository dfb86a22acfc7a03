"""Activities of role `land`: they reach the person's repository, hosting services and messages.

Those that make and judge work on a host are in the folder above.
"""
