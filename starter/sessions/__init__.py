"""Sessions as a client of Temporal sees them: found, started, queried, and signalled.

Wording belongs in `starter.views`.
"""
