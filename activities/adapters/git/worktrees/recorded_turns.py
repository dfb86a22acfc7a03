"""The checkpoints beneath an agent's last one, and what the work in them is based on.

A task's commits form one line, from its newest checkpoint down to its base:

| commit                           | made by                        | below it        |
|----------------------------------|--------------------------------|-----------------|
| checkpoint                       | a turn of this or an earlier   | the turn before |
|                                  | attempt                        |                 |
| the task's commit, or moved work | a submission, or a rebase      | the base, or    |
| kept turn                        | a submission                   | a kept turn     |
| any other                        |                                | it is the base  |
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from activities.adapters.git import loose_objects
from activities.adapters.git.bare_repository import Bare
from activities.adapters.git.worktrees.checkpoint import OBSERVATIONS, SESSION, TASK, TURN
from activities.ports.host_repository import RecordedTurn, RecordedTurns
from workflows.domain.ids import Commit, SessionId, TaskId

_MOST: Final = 5_000
_INDENT: Final = 4


class _Listed(NamedTuple):
    commit: Commit
    parents: tuple[Commit, ...]
    trailers: dict[str, str]


async def recorded(bare: Bare, tip: Commit, session: SessionId, task: TaskId) -> RecordedTurns:
    """Return the checkpoints from `tip` down, the newest first, and their base."""
    arguments = ("rev-list", "--header", "--first-parent", f"--max-count={_MOST}", tip)
    listed = (await bare.git.run(bare.scope(), *arguments)).records()
    turns: list[RecordedTurn] = []
    is_submitted = False
    for each in map(_read, listed):
        if is_submitted and _is_kept_turn(each, task):
            continue
        if is_submitted or each.trailers.get(SESSION) != session or len(each.parents) != 1:
            return RecordedTurns(turns=tuple(turns), base=each.commit)
        if OBSERVATIONS not in each.trailers:
            if each.trailers.get(TASK, task) != task:
                return RecordedTurns(turns=tuple(turns), base=each.commit)
            is_submitted = True
            continue
        agent, turn = each.trailers[TASK], int(each.trailers[TURN])
        turns.append(RecordedTurn(agent=agent, turn=turn, commit=each.commit))
    raise ValueError(f"no base within {_MOST} commits below {tip!r}")


def _is_kept_turn(each: _Listed, task: TaskId) -> bool:
    is_turn = TURN in each.trailers and OBSERVATIONS not in each.trailers
    return is_turn and each.trailers.get(TASK) == task


def _read(record: bytes) -> _Listed:
    name, _, text = record.decode("utf-8", "replace").partition("\n")
    head, _, message = text.partition("\n\n")
    plain = "\n".join(line[_INDENT:] for line in message.split("\n"))
    return _Listed(Commit(name), tuple(_parents(head)), loose_objects.read_trailers(plain))


def _parents(head: str) -> Iterator[Commit]:
    for line in head.splitlines():
        key, _, value = line.partition(" ")
        if key == "parent":
            yield Commit(value)
