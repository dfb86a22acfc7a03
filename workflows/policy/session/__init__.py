"""The session's state machine: scheduling, outcomes of waves, decisions of persons, and its view.

Rules about one agent, one plan or one review are in packages of their own.
"""
