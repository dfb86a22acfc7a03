"""Rules of notifications: what a person is told, when, and in which words.

Where messages go, and how they are sent, is in `activities`.
"""
