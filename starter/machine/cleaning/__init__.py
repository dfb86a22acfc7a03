"""Removing what ended sessions left on this machine: asked for by a person, or once a day.

The server says which sessions have ended, and how; `workers.hosting.session_cleaning` removes.
"""
