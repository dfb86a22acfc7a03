"""Commands that show sessions, their history and the health of what runs them.

They change nothing. What they print is worded in `starter.views` and `starter.reports`.
"""
