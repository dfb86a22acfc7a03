"""What is read of sessions and workers to be shown: metrics, logs, health, records, traces.

What a person is shown of it belongs to `starter`.
"""
