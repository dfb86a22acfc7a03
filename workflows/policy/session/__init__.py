"""The session's state machine: scheduling, outcomes of waves, the record of decisions, its view.

What persons may decide is in `decision`; one agent, plan or review has rules of its own room.
"""
