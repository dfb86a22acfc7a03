"""The user's repository: found, checked before a session, landed on, and fast-forwarded.

Blue Flame's own bare repository is in the folder above.
"""
