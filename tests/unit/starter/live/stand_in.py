"""A session that looks as a test wants, and keeps the decisions that the live view sends."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from datetime import UTC, datetime

from pydantic import BaseModel

from starter.console.command_errors import CommandError
from starter.console.exit_codes import ExitCode
from starter.live.live_model import Known
from starter.sessions.shown_session import ShownSession
from starter.sessions.turn_history import Happening
from tests.unit.starter.views.test_file_diffs import DIFF
from workflows.domain.session.query_answers import ChangesetLine


class StandIn:
    """A `Source` without a server."""

    def __init__(self, now: ShownSession, known: Known | None = None) -> None:
        self.now = now
        self.more = known or Known()
        self.sent: list[tuple[str, BaseModel]] = []
        self.refuses = ""
        self.follows = ""
        self.looks = 0

    async def look(self) -> ShownSession:
        self.looks += 1
        return self.now

    async def known(self, now: ShownSession) -> Known:
        return self.more

    def news(self) -> Sequence[str]:
        return ()

    async def decide(self, name: str, content: BaseModel) -> str:
        self.sent.append((name, content))
        if self.refuses:
            raise CommandError(self.refuses, ExitCode.STALE)
        return self.follows

    async def diff(self, changeset: ChangesetLine) -> Mapping[str, str]:
        return {"a": DIFF}

    async def turns(self, wanted: str) -> AsyncGenerator[Happening]:
        yield Happening(
            at=datetime(2026, 11, 27, 12, tzinfo=UTC),
            session=self.now.session,
            agent=f"dev.{wanted}.1",
            kind="said",
            turn=1,
            text="I begin with the tests.",
        )
