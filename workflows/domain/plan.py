"""The plan: a graph of tasks. Shape only; `policy.plan` judges the graph."""

from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import BaseModel, Field, StringConstraints

from workflows.domain.evolution import evolve
from workflows.domain.ids import TaskId

ID_PATTERN = "^[a-z0-9][a-z0-9-]{0,62}$"
TaskIdText = Annotated[TaskId, StringConstraints(pattern=ID_PATTERN)]
Line = Annotated[str, StringConstraints(min_length=1, max_length=200, strip_whitespace=True)]
Title = Annotated[str, StringConstraints(min_length=1, max_length=2_000, strip_whitespace=True)]
"""Views and commit subjects shorten a long one."""
Paragraph = Annotated[str, StringConstraints(min_length=1, max_length=2_000)]

MAX_TASKS = 1_000
Place = tuple[str | int, ...]
"""A path into a plan's document, as in `("tasks", 2, "claims", 0)`; numbers count from 0."""


class TaskKind(StrEnum):
    """What sort of work a task is; it chooses limits and, later, routes."""

    CODE = "code"
    TESTS = "tests"
    DOCS = "docs"
    REFACTOR = "refactor"
    ARCHITECTURE = "architecture"
    SECURITY = "security"


class Task(BaseModel, frozen=True, extra="forbid"):
    """One task, as the planner wrote it and a person approved it."""

    id: TaskIdText
    kind: TaskKind = TaskKind.CODE
    title: Title
    description: str = Field(default="", max_length=10_000)
    acceptance_criteria: tuple[Paragraph, ...] = Field(min_length=1, max_length=20)
    claims: tuple[Line, ...] = Field(min_length=1, max_length=50)
    """Path globs that the task may write; `P` also means everything below `P`."""
    depends_on: tuple[TaskIdText, ...] = Field(default=(), max_length=100)
    group: TaskIdText | None = None
    """Cohesion group: its tasks are approved and merged together. None: a changeset of its own."""
    priority: int = Field(default=0, ge=-100, le=100)
    """Higher goes first."""
    risk: Literal["low", "medium", "high"] = "low"

    def with_priority(self, priority: int) -> Self:
        """Return the task with another priority."""
        return evolve(self, {"priority": priority})


class Plan(BaseModel, frozen=True, extra="forbid"):
    """What the planner submits and a person approves."""

    summary: str = Field(default="", max_length=10_000)
    tasks: tuple[Task, ...] = Field(min_length=1, max_length=MAX_TASKS)


class PlanFault(BaseModel, frozen=True, extra="forbid"):
    """One reason for refusing a plan, worded for the planner and for a person."""

    kind: Literal["shape", "text", "duplicate", "unknown", "cycle", "claim", "groups", "more"]
    """`more`: there are other faults that are not listed."""
    text: str
    place: Place = ()
    """Where in the plan; empty for the whole."""
