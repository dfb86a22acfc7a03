"""Telling the person: the notifier beside a session, and how the session tells it what it needs."""
