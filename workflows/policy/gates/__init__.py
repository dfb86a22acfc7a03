"""Which gates run, what their results mean, and when work is green.

Pure: no gate runs here and no output is parsed; `activities.gates` reports the facts.
"""
