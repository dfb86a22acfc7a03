"""Errors between a process and the Temporal server.

TemporalUnavailableError   the message says which server and what to do
├── NoServerError          no server is named and none was started here
└── PayloadUnreadableError a session is encrypted with a key that is missing here
"""


class TemporalUnavailableError(Exception):
    """The server cannot be reached."""


class PayloadUnreadableError(TemporalUnavailableError):
    """A payload is encrypted, and its key is missing."""


class NoServerError(TemporalUnavailableError):
    """No server is named, and none was ever started from this data directory."""
