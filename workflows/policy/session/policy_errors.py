"""Errors for broken promises within policy; ordinary outcomes are values, never exceptions.

PolicyError
└── IllegalMoveError    a task or changeset was moved by an event that its state does not know
"""


class PolicyError(Exception):
    """A caller broke a promise: always an internal error, never a person's mistake."""


class IllegalMoveError(PolicyError):
    """The state table has no entry for this state and event."""

    def __init__(self, subject: str, state: str, event: str) -> None:
        """Name the subject (`task 'a'`), its state and the event."""
        super().__init__(
            f"{subject} is {str(state)!r} and cannot take the event {str(event)!r}:"
            " ask can_move before, and tell the person where it cannot"
        )
        self.subject, self.state, self.event = subject, state, event
