"""What gates' runs mean: results, the comparison with the base, and when work is green.

Pure. It runs nothing and parses no output: `activities.gates` reports the facts.
"""
