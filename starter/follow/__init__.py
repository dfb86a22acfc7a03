"""Following a session until it ends or asks: live view, log of turns, delivery of its work.

`starter.decisions` checks a person's decisions on the way.
"""
