"""What the live view asks of a session, and how it is answered: by queries, histories and Updates.

It remembers the plan, which is read again only when it may have changed.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from pydantic import BaseModel

from starter.console.command_errors import CommandError
from starter.console.disk_space import Disk
from starter.live.live_model import Known
from starter.sessions.shown_session import ProviderWait, ShownSession
from starter.sessions.turn_history import Happening
from workflows.domain.agent.agent_settings import AgentSettings
from workflows.domain.plan import Plan
from workflows.domain.session.query_answers import ChangesetLine

if TYPE_CHECKING:
    from starter.sessions.session_client import Sessions
    from workers.settings import Settings
    from workflows.domain.ids import SessionId


class Source(Protocol):
    """One session, as the live view reads and decides it."""

    async def look(self) -> ShownSession:
        """Return the session's view now."""
        ...

    async def known(self, now: ShownSession) -> Known:
        """Return what else is known of it."""
        ...

    def news(self) -> Sequence[str]:
        """Return what has happened to this machine's disk since the last call."""
        ...

    async def decide(self, name: str, content: BaseModel) -> str:
        """Send a decision, and return what else follows from it, in a sentence or empty.

        Raises:
            CommandError: the session refuses it, has ended, or does not answer.
        """
        ...

    async def diff(self, changeset: ChangesetLine) -> Mapping[str, str]:
        """Return a changeset's diff by task, as git wrote it.

        Raises:
            CommandError: there is none to show; says why.
        """
        ...

    def turns(self, wanted: str) -> AsyncGenerator[Happening]:
        """Yield what a task's agents, or one agent, did and do."""
        ...


class SessionSource:
    """A session on a Temporal server."""

    def __init__(self, sessions: "Sessions", session: "SessionId", settings: "Settings") -> None:
        """Args: `settings`: say where the store of diffs is."""
        self._sessions = sessions
        self._session = session
        self._settings = settings
        self._waits: tuple[ProviderWait, ...] = ()
        self._plan: Plan | None = None
        self._plan_of: object = None
        self._limits: AgentSettings | None = None
        # On another machine, this disk does not matter.
        self._disk = None if settings.has_external_server else Disk(settings.data_dir)

    async def look(self) -> ShownSession:
        """Return the session's view now, with the calls that wait for their provider."""
        now = await self._sessions.view(self._session)
        return now if now.outcome else now.with_waits(self._waits)

    async def known(self, now: ShownSession) -> Known:
        """Return what else is known; without a worker, what was known before."""
        self._waits = await self._sessions.waits(self._session)
        work = await self._sessions.work(self._session)
        if now.live:
            await self._read_plan(now)
        return Known(self._plan, work, self._limits)

    def news(self) -> Sequence[str]:
        """Return whether the data directory's disk became full, or has space again."""
        return [] if self._disk is None else self._disk.news()

    async def _read_plan(self, now: ShownSession) -> None:
        if not now.tasks:
            self._plan = self._plan_of = None  # it was sent back, and the next one is another
            return
        # Another plan has other tasks, or came by a decision; the same one again is only counted.
        said = sum(each.count for each in now.decisions)
        mark = (len(now.tasks), said, now.decisions_dropped)
        if mark == self._plan_of:
            return
        try:
            self._plan = await self._sessions.plan(self._session)
            self._limits = self._limits or await self._sessions.agents(self._session)
        except CommandError:
            return  # the worker went away in between: the next look asks again
        self._plan_of = mark

    async def decide(self, name: str, content: BaseModel) -> str:
        """Send a decision as an Update."""
        return (await self._sessions.decide(self._session, name, content)).told

    async def diff(self, changeset: ChangesetLine) -> Mapping[str, str]:
        """Return a changeset's diff by task, from the store."""
        from starter.follow.changeset_diff import diffs_of

        return await diffs_of(self._sessions, self._session, changeset, self._settings)

    def turns(self, wanted: str) -> AsyncGenerator[Happening]:
        """Yield what a task's agents, or one agent, did and do."""

        async def is_over() -> bool:
            return not await self._sessions.is_open(self._session)

        return self._sessions.turns(self._session, wanted).follow(is_over)
