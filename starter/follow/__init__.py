"""Following a session until it ends or asks: live view, log of turns, delivery of its work.

What a person decides during that is checked in `starter.decisions`.
"""
