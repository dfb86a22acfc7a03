"""The report of a session as one page, and its history as a story.

Not here: reading histories (`workers.telemetry`) and the lines of other commands (`views`).
"""
