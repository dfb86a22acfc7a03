"""The session's state machine: scheduling, outcomes of waves, the record of decisions, its view.

What persons may decide is in `decision`; the rules of one agent, plan or review have their own
folders.
"""
