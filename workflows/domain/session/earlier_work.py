"""What a decision on earlier work asks a host before it can be taken up, and the answers.

Only the host knows which checkpoints exist, and what git makes of taking a commit back.
"""

from pydantic import BaseModel

from workflows.domain.ids import Commit, TaskId


class FindTurn(BaseModel, frozen=True, extra="forbid"):
    """Ask for the checkpoint of one turn."""

    task: TaskId
    attempt: int
    turn: int


class TurnFound(BaseModel, frozen=True, extra="forbid"):
    """The turn's checkpoint exists."""

    attempt: int
    commit: Commit
    base: Commit
    """What the attempt's work is based on."""


class MakeRevert(BaseModel, frozen=True, extra="forbid"):
    """Ask for a merged task's work taken back on the session's head."""

    task: TaskId
    title: str
    head: Commit
    commit: Commit
    """The task's merged commit."""
    base: Commit
    """What that commit is based on."""


class RevertMade(BaseModel, frozen=True, extra="forbid"):
    """One commit on the head without the task's work."""

    commit: Commit
    base: Commit
    """The head on which it was made."""
    conflicts: str = ""
    """One line for each path in which later work is in the way; empty if git made it whole."""


class NotFound(BaseModel, frozen=True, extra="forbid"):
    """The host has no such thing."""

    reason: str
    """For the person, in one sentence."""


HostQuestion = FindTurn | MakeRevert
HostAnswer = TurnFound | RevertMade | NotFound
