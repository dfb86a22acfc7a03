"""A session as a trace: read from its histories, and sent to a collector.

What a person is shown of it belongs to `starter.views`.
"""
