"""Sessions as a client of Temporal sees them: found, started, queried, and told something.

Wording belongs in `starter.views`.
"""
