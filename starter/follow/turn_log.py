"""Writes what a session's agents did, below the labels that no view of a session may omit."""

from typing import TYPE_CHECKING

from starter.console import json_output
from starter.console.terminal import write
from starter.sessions.shown_session import ShownSession
from starter.views import safety_labels, session_words, turn_words

if TYPE_CHECKING:
    from starter.sessions.session_client import Sessions
    from starter.sessions.turn_history import Happening


class TurnLog:
    """One `log` of one session: lines for people, or one document per line."""

    def __init__(self, sessions: "Sessions", view: ShownSession, *, json: bool) -> None:
        """Args: `view`: the session's latest view."""
        self._sessions = sessions
        self._view = view
        self._json = json

    def begin(self) -> None:
        """Write what is known of the session before anything else."""
        self._mark([])

    async def tell(self, happening: "Happening") -> None:
        """Write one happening."""
        if self._view.live and not self._view.sandbox:
            # The first agents start after a host has said what confines them.
            said = safety_labels.of(self._view)
            self._view = await self._sessions.view(self._view.session)
            self._mark(said)
        if self._json:
            told = {**happening.model_dump(mode="json"), "sandbox": self._view.sandbox}
            json_output.write_line(told)
        else:
            write(turn_words.happening(happening))

    def _mark(self, said: list[str]) -> None:
        if not self._json:
            write(
                [each for each in safety_labels.of(self._view) if each not in said],
                session_words.style,
            )
