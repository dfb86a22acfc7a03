"""Tasks and changesets in words: one line each, with aligned columns.

Pure: values in, lines out. Foreign text passes `shown` or `one_line`.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from starter.console.terminal import one_line, shown
from workflows.domain.session.query_answers import ChangesetLine, PullLine, TaskLine

_WIDEST: Final = 32
"""The most characters of a column: a longer name shifts only its own line."""
_STATE: Final = 11
NOT_JUDGED: Final = "not judged"
NOT_REVIEWED: Final = "no reviewer gave a verdict"


def task_lines(tasks: Sequence[TaskLine]) -> list[str]:
    """Return tasks with their titles aligned."""
    wide = _column(map(_name, tasks))
    return [task_line(task, wide) for task in tasks]


def task_line(task: TaskLine, wide: int = 0) -> str:
    """Return one task on one line. Args: `wide`: the width of its name's column."""
    reason = f": {one_line(task.reason, 80)}" if task.reason else ""
    return f"  {task.state:<{_STATE}} {_name(task):<{wide}}  {one_line(task.title, 60)}{reason}"


def changeset_lines(changesets: Sequence[ChangesetLine]) -> list[str]:
    """Return changesets with their tasks aligned."""
    state, wide = _column(map(_state, changesets)), _column(map(_pinned, changesets))
    return [changeset_line(each, state, wide) for each in changesets]


def changeset_line(changeset: ChangesetLine, state: int = 0, wide: int = 0) -> str:
    """Return one changeset on one line.

    Args:
        changeset: the changeset to show.
        state: the width of its state's column; at least that of tasks.
        wide: the width of the column with its id and digest.
    """
    by = f", approved by {one_line(changeset.approved_by, 100)}" if changeset.approved_by else ""
    first = f"  {_state(changeset):<{max(state, _STATE)}} {_pinned(changeset):<{wide}}"
    told = "".join(f", {text}" for text in (judged(changeset), unreviewed(changeset)) if text)
    return f"{first}  ({shown(', '.join(changeset.tasks))}){by}{told}"


def judged(changeset: ChangesetLine) -> str:
    """Return which gates judged a changeset, or why none did; empty until it is validated."""
    less = one_line(changeset.not_judged, 200)
    if not changeset.judged_by:
        return f"{NOT_JUDGED}: {less}" if less else ""
    by = f"judged by: {shown(', '.join(changeset.judged_by))}"
    return f"{by} (less: {less})" if less else by


def is_unjudged(changeset: ChangesetLine) -> bool:
    """Tell whether it holds validated work that no gate judged."""
    return bool(changeset.not_judged) and not changeset.judged_by


def unreviewed(changeset: ChangesetLine) -> str:
    """Return which work got no reviewer's verdict, and why; empty if all did."""
    why = one_line(changeset.not_reviewed, 200)
    return f"{NOT_REVIEWED}: {why}" if why else ""


def unreviewed_task(changeset: ChangesetLine) -> str:
    """Return the first task whose work got no reviewer's verdict."""
    return shown(changeset.not_reviewed.partition(":")[0])


def verdict_lines(changeset: ChangesetLine) -> list[str]:
    """Return the judgements of gates and reviewers, one line each."""
    said = {"Gates": judged(changeset), "Review": unreviewed(changeset)}
    return [f"{who:<11}{text}" for who, text in said.items() if text]


def _name(task: TaskLine) -> str:
    return f"{shown(task.id)} (attempt {task.attempt})" if task.attempt > 1 else shown(task.id)


def _state(changeset: ChangesetLine) -> str:
    return changeset.state.replace("_", " ")


def _pinned(changeset: ChangesetLine) -> str:
    return f"{shown(changeset.id)} {(changeset.digest or '')[:12]}".rstrip()


def _column(texts: Iterable[str]) -> int:
    return max((len(text) for text in texts if len(text) <= _WIDEST), default=0)


def pull_line(pull: PullLine) -> str:
    """Return a pull request as one line: number, state, what it is asked for, address."""
    of = "" if pull.key == "session" else f"  {shown(pull.key)}"
    return f"{pull_state(pull)}{of}  {shown(pull.url)}"


def pull_lines(pulls: Sequence[PullLine]) -> list[str]:
    """Return a line for each pull request that says what it is."""
    return [f"  pull request {pull_line(each)}" for each in pulls]


def pull_state(pull: PullLine) -> str:
    """Return a pull request's number, its state, and how much is to fix."""
    asked = f", {pull.asked} to fix" if pull.asked else ""
    return f"#{pull.number} {pull.state}{asked}"
