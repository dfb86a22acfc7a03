"""Text made safe: visible characters only, without secrets, without lone surrogates.

JSON that someone else wrote is read here as well: what is of another type counts as absent.

Words for people belong in `starter.views`.
"""
