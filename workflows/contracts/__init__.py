"""What workflows ask of activities, as values: one contract for each activity, by worker role.

The activity of the same name implements it; `tests/unit/test_contracts.py` compares the two.
Requests and outcomes are small (well below 256 kB): long texts stay in the store, named by digest.
"""
