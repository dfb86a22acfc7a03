"""Text made safe: visible characters only, without secrets, without lone surrogates.

Words for people belong in `starter.views`.
"""
