"""Following a session: a live view on a terminal, lines of changes elsewhere.

On a terminal a person is asked for pending decisions. Elsewhere no one is asked: the commands that
answer are printed, and the exit code says that a person is needed.
"""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from starter.console import json_output
from starter.console.command_errors import CommandError
from starter.console.disk_space import Disk
from starter.console.exit_codes import OF_OUTCOME, ExitCode
from starter.console.program_name import program
from starter.console.terminal import console, is_interactive, read_line, shown, write
from starter.decisions import decision_checks
from starter.follow import fast_forward_offer, kept_work
from starter.machine.own_settings import read_settings
from starter.reports import report_files
from starter.sessions.open_questions import Ask, PlanAsk, plan_question
from starter.sessions.shown_session import ProviderWait, ShownSession
from starter.views import live_picture, plan_words, safety_labels, session_words, work_words
from workflows.domain.ids import SessionId
from workflows.domain.session.query_answers import ChangesetLine
from workflows.domain.session.session_modes import SessionPhase

if TYPE_CHECKING:
    from pydantic import BaseModel

    from starter.decisions.unattended import Unattended
    from starter.sessions.session_client import Sessions

_LOOK_SECONDS: Final = 0.5
_PATIENT_LOOKS: Final = 240
"""Looks that may fail in a row: a server restarts in seconds, a cluster fails over in a minute."""
_WAITS_EVERY: Final = 10
"""Looks between two checks for provider waits, which need a request for each agent."""
_CHOICES: Final = {"y": "[y]es", "n": "[n]o", "l": "[l]ater", "d": "[d]iff"}
_NO_WORKER_LOOKS: Final = 3
"""Looks without an answer before it is reported: a worker may just be starting."""


class Watch:
    """One person's (or script's) view of one session."""

    def __init__(
        self,
        sessions: "Sessions",
        session: SessionId,
        *,
        patient: bool = False,
        json: bool = False,
        unattended: "Unattended | None" = None,
    ) -> None:
        """Follow `session`.

        Args:
            sessions: the client.
            session: its id.
            patient: without a terminal, continue when the session waits for a person.
            json: write each change as one document per line, and ask no one.
            unattended: decides in a person's place; then no one is asked.
        """
        self._sessions = sessions
        self._patient = patient
        self._json = json
        self._unattended = unattended
        settings = read_settings()
        # On another machine, this disk does not matter.
        self._disk = None if settings.has_external_server else Disk(settings.data_dir)
        self._session = session
        self._program = program()
        self._asked: set[str] = set()
        self._has_asked = False
        self._looks = 0
        self._waits: tuple[ProviderWait, ...] = ()

    async def follow(self) -> ExitCode:
        """Follow the session to its end and return the exit code for how it ended."""
        if is_interactive() and self._unattended is None and not self._json:
            return await self._live()
        return await self._lines()

    async def _lines(self) -> ExitCode:
        before: ShownSession | None = None
        silent = 0
        while True:
            now = await self._look()
            silent = 0 if now.live or now.outcome else silent + 1
            if silent in {0, _NO_WORKER_LOOKS}:
                self._tell_changes(before, now)
                before = now
            if now.outcome:
                return await self._end(now)
            decided = await self._unattended.act(now) if self._unattended else []
            self._say(decided)
            is_new = bool(_needs(now) - self._asked)
            self._asked |= _needs(now)
            if is_new and not decided:
                self._say(session_words.no_terminal(now, self._program))
                if not self._patient:
                    return ExitCode.WAITING
            await asyncio.sleep(_LOOK_SECONDS)

    def _tell_changes(self, before: ShownSession | None, now: ShownSession) -> None:
        if not self._json:
            _write(session_words.changes(before, now))
        elif now != before:
            json_output.write_line(now.model_dump(mode="json"))

    def _say(self, lines: Iterable[str]) -> None:
        if not self._json:
            _write(lines)

    async def _look(self) -> ShownSession:
        """Return the session's view; a server that is briefly away does not end the watch."""
        from temporalio.service import RPCError

        for _ in range(_PATIENT_LOOKS):
            if self._disk is not None:  # in line-based output it goes to the error stream
                write(self._disk.news(), session_words.style, beside=self._json)
            try:
                return await self._whole()
            except RPCError as error:
                if error.status not in self._sessions.PASSING:
                    raise
                await asyncio.sleep(_LOOK_SECONDS)
        return await self._whole()

    async def _whole(self) -> ShownSession:
        now = await self._sessions.view(self._session)
        if now.outcome is not None:
            return now
        if self._looks % _WAITS_EVERY == 0:
            self._waits = await self._sessions.waits(self._session)
        self._looks += 1
        return now.with_waits(self._waits)

    async def _live(self) -> ExitCode:
        from rich.live import Live
        from rich.text import Text

        out = console()
        while True:
            with Live(console=out, auto_refresh=False, transient=True) as live:
                now = await self._until_asked_or_ended(
                    lambda now: live.update(
                        Text("\n").join(
                            Text(line, session_words.style(line))
                            for line in self._picture(now, out.size)
                        ),
                        refresh=True,
                    )
                )
            if now.outcome:
                return await self.conclude(now, has_decided=self._has_asked)
            await self._ask(now)

    async def conclude(self, now: ShownSession, *, has_decided: bool) -> ExitCode:
        """Report how a session ended, and return the exit code.

        Args:
            now: its last view.
            has_decided: a person decided here, so that the fast-forward is offered too.
        """
        _write(session_words.status(now, self._program))
        code = await self._end(now)
        if has_decided:
            await self._offer_fast_forward(now)
        return code

    def _picture(self, now: ShownSession, size: tuple[int, int]) -> list[str]:
        width, height = size
        # One row less, because the cursor is below the last line.
        return live_picture.picture(now, self._program, width, max(height - 1, 1))

    async def _until_asked_or_ended(self, show: Callable[[ShownSession], None]) -> ShownSession:
        while True:
            now = await self._look()
            if now.phase is SessionPhase.RUNNING:
                # What went away and comes back, as after `retry --review`, is asked again.
                self._asked &= _open_asks(now)
            if now.outcome or _open_asks(now) - self._asked:
                return now
            show(now)
            await asyncio.sleep(_LOOK_SECONDS)

    async def _ask(self, now: ShownSession) -> None:
        self._asked |= _open_asks(now)
        self._has_asked = True
        if now.phase is SessionPhase.AWAITING_PLAN:
            tasks = [await self._sessions.task(self._session, t.id) for t in now.tasks]
            planned = plan_words.tasks([t.task for t in tasks if t is not None])
            _write(["The plan:", *safety_labels.of(now), *planned])
            await self._decide("Approve the plan?", decision_checks.plan(now))
            return
        for changeset in session_words.waiting(now):
            _write(["A changeset is ready:", *self._summary(now, changeset)])
            ask = decision_checks.changeset(now, changeset.id, None)
            await self._decide(f"Merge {changeset.id}?", ask, changeset)

    def _summary(self, now: ShownSession, changeset: ChangesetLine) -> list[str]:
        tasks = {t.id: t for t in now.tasks}
        at = f"--session {self._session}"
        task = work_words.unreviewed_task(changeset)
        return [
            *safety_labels.of(now),
            work_words.changeset_line(changeset),
            *work_words.task_lines([tasks[name] for name in changeset.tasks if name in tasks]),
            f"  {self._program} diff {changeset.id} {at}",
            *([f"  {self._program} retry --review {task} {at}"] if task else []),
        ]

    async def _decide(self, question: str, ask: Ask, seen: ChangesetLine | None = None) -> None:
        from starter.sessions.sent_decisions import decider

        choices = "ynl" if seen is None else "ynld"
        while (answer := await _answer(question, choices)) == "d" and seen is not None:
            await self._show_diff(seen)
        if answer == "y":
            await self._send(ask, decision_checks.approval(ask, decider()))
        elif answer == "n":
            _write(["Why? (one line for the agents)"])
            reason = await read_line() or ""
            await self._send(ask, decision_checks.rejection(ask, reason, decider()))

    async def _show_diff(self, changeset: ChangesetLine) -> None:
        from starter.follow.changeset_diff import diffs_of, lines

        try:
            found = await diffs_of(self._sessions, self._session, changeset, read_settings())
        except CommandError as error:
            _write([str(error)])
        else:
            write(lines(found))

    async def _send(self, ask: Ask, decision: "tuple[str, BaseModel]") -> None:
        # A decision on a plan does not name it: another may have come while this one was read.
        if isinstance(ask, PlanAsk) and plan_question(await self._look()) != ask.question:
            _write([session_words.OTHER_PLAN])
            return
        try:
            await self._sessions.decide(self._session, *decision)
        except CommandError as error:  # another user decided first, say: stop asking
            _write([str(error)])

    async def _offer_fast_forward(self, now: ShownSession) -> None:
        """Ask a person who answered before whether to move their branch too, if it can move."""
        if now.outcome != "complete" or now.branch is None:
            return
        way = await fast_forward_offer.open_way(Path(now.repository), now.session)
        if way is None:
            return
        question = f"Fast-forward your branch {shown(way.branch)} to {shown(way.to)}?"
        try:
            answer = await _answer(question, "yl")
        except asyncio.CancelledError:
            return  # Ctrl-C: later; the session has ended, and its end was reported
        if answer == "y":
            try:
                _write(await fast_forward_offer.go(way))
            except CommandError as error:
                _write([str(error)])

    async def _end(self, now: ShownSession) -> ExitCode:
        settings = read_settings()
        kept = kept_work.lines(now, settings.host_dir)
        self._say([*session_words.ending(now, self._program), *kept])
        # Ctrl-C here gives up the report only: the session has ended, and its end was reported.
        with suppress(asyncio.CancelledError):
            self._say(await report_files.closing_lines(self._sessions, self._session, settings))
        assert now.outcome is not None
        return OF_OUTCOME[now.outcome]


def _open_asks(now: ShownSession) -> set[str]:
    asks = {f"{c.id} {c.digest}" for c in session_words.waiting(now)}
    # A new plan is a new question.
    return asks | {plan} if (plan := plan_question(now)) else asks


def _needs(now: ShownSession) -> set[str]:
    """Return what the session needs a person for besides questions: a fixed fault."""
    needs = _open_asks(now) | {f"question of {each.agent}" for each in now.questions}
    if now.phase is SessionPhase.PAUSED and now.live:
        needs.add(f"paused {now.cap_usd} {now.reason}")
    if session_words.is_stuck(now):
        needs.add("stuck " + " ".join(f"{t.id} {t.state} {t.attempt}" for t in now.tasks))
    return needs


async def _answer(question: str, choices: str) -> str:
    offered = ", ".join(_CHOICES[each] for each in choices)
    while True:
        console().print(f"{question} {offered}: ", end="")
        try:
            line = await read_line()
        except asyncio.CancelledError:
            # Text for a person who leaves begins on a new line.
            _write([""])
            raise
        choice = (line or "l").lower()[:1]
        if choice in choices:
            return choice


def _write(lines: Iterable[str]) -> None:
    write(lines, session_words.style)
