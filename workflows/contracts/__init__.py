"""What workflows ask of activities, as values: one contract for each activity, by worker role.

The activity of the same name implements it; `tests/unit/test_contracts.py` holds the two together.
Requests and outcomes are small (well below 256 kB): long texts are in the store and go by digest.
"""
