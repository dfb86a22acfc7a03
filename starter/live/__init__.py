"""The full-screen view of a session: what it shows and what a key does, and the widgets for both.

The view model and the keys' meaning are pure. Widgets show rows and pass keys on; they decide
nothing. Only `live_app` and what it imports load Textual.
"""
