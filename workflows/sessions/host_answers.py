"""What a session asks its host before it takes up a decision on earlier work.

The host has little time for it: a person waits for the answer to their decision.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final

from temporalio import workflow
from temporalio.exceptions import ActivityError

from workflows.contracts.host_contracts import READ_TURN, ReadTurn
from workflows.contracts.merging_contracts import REBASE_WORK, RebaseWork
from workflows.domain.agent.agent_values import WorktreeRef
from workflows.domain.ids import AgentId, SessionId
from workflows.domain.session.earlier_work import (
    FindTurn,
    HostAnswer,
    HostQuestion,
    MakeRevert,
    NotFound,
    RevertMade,
    TurnFound,
)
from workflows.domain.session.session_state import Prepared
from workflows.failures import failure_words

_MAKE_REVERT: Final = replace(REBASE_WORK, within=timedelta(seconds=45))
_NAMED: Final = 30


async def host_answer(
    session: SessionId, prepared: Prepared | None, asked: HostQuestion
) -> HostAnswer:
    """Ask the session's host; a host that does not answer is an answer too."""
    if prepared is None:
        return NotFound(reason="the session is not prepared yet")
    try:
        match asked:
            case FindTurn():
                return await _turn(session, prepared, asked)
            case MakeRevert():
                return await _revert(session, prepared, asked)
    except ActivityError as error:
        reason = f"the session's host could not answer, try again later: {failure_words(error)}"
        return NotFound(reason=reason[:1_000])


async def _turn(session: SessionId, prepared: Prepared, asked: FindTurn) -> HostAnswer:
    worktree = WorktreeRef(
        session=session,
        agent=AgentId(f"dev.{asked.task}.{asked.attempt}"),
        repository=prepared.base.key,
        writable=True,
    )
    read = ReadTurn(worktree=worktree, task=asked.task, turn=asked.turn)
    summary = f"find turn {asked.turn} of {asked.task}, attempt {asked.attempt}"
    found = await READ_TURN.ask(read, summary, queue=prepared.host_queue)
    if found.checkpoint is None or found.base is None:
        return NotFound(reason=_no_turn(asked, found.turns))
    return TurnFound(attempt=asked.attempt, commit=found.checkpoint, base=found.base)


def _no_turn(asked: FindTurn, turns: Sequence[int]) -> str:
    whose = f"attempt {asked.attempt} of task {asked.task!r}"
    if not turns:
        return (
            f"{whose} has no checkpoint: its agent has not run a tool yet, or a clean-up removed "
            "them; name another with --attempt, or use `retry`"
        )
    listed = ", ".join(map(str, turns[-_NAMED:]))
    newest = "the newest it has are" if len(turns) > _NAMED else "it has"
    return f"{whose} has no checkpoint of turn {asked.turn}; {newest} those of turns {listed}"


async def _revert(session: SessionId, prepared: Prepared, asked: MakeRevert) -> HostAnswer:
    """Apply the difference from the task's commit back to its base, to the head."""
    rebase = RebaseWork(
        session=session,
        key=prepared.base.key,
        base=asked.head,
        work=asked.base,
        work_base=asked.commit,
        title=asked.title,
        at=workflow.now(),
    )
    summary = f"take back {asked.task}"
    done = await _MAKE_REVERT.ask(rebase, summary, queue=prepared.host_queue)
    return RevertMade(commit=done.commit, base=asked.head, conflicts=done.conflicts)
