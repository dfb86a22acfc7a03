"""Formats the results of all projects: a table for people and one line for programs. Pure."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass
class Result:
    """The result of one project for one user."""

    project: str
    kinds: tuple[str, ...]
    person: str
    setup_s: float | None = None
    """How long set-up's commands took; None without set-up."""
    first_s: float | None = None
    """The time until the session's first worktree was ready; None if there was none."""
    second_s: float | None = None
    """None if there was only one: without set-up, only developers' worktrees are prepared."""
    on_base: dict[str, str] = field(default_factory=dict)
    """What each gate did on the base: passed, failed, or cannot judge."""
    judged: tuple[str, ...] = ()
    """The gates that judged the change."""
    end: str = "not begun"
    """How the session ended."""
    has_hand_edits: bool = False
    is_identical: bool = False
    """The checkout, except for the files that `init` wrote."""
    faults: list[str] = field(default_factory=list)
    log: str = ""

    @property
    def is_well(self) -> bool:
        """Whether everything succeeded."""
        return (
            not self.faults
            and self.end == "complete"
            and bool(self.judged)
            and self.is_identical
            and not self.has_hand_edits
        )


def table(results: Sequence[Result]) -> str:
    """Return the results as a table in Markdown."""
    head = (
        "| project | kinds | user | set-up | first worktree | second worktree "
        "| gates, on the base | judged the change | session |"
    )
    rows = [f"| {' | '.join(_cells(each))} |" for each in results]
    return "\n".join((head, f"|{'---|' * 9}", *rows))


def summary(results: Sequence[Result]) -> str:
    """Return the last line: counts of projects that succeeded for every user."""
    by_project: dict[str, list[Result]] = {}
    for each in results:
        by_project.setdefault(each.project, []).append(each)
    runs = list(by_project.values())
    return json.dumps(
        {
            "projects": len(runs),
            "gates_that_judged": sum(min(len(each.judged) for each in run) for run in runs),
            "sessions_complete": sum(all(each.end == "complete" for each in run) for run in runs),
            "hand_edits": sum(each.has_hand_edits for each in results),
            "checkouts_identical": sum(all(each.is_identical for each in run) for run in runs),
        }
    )


def faults(results: Sequence[Result]) -> list[str]:
    """Return the failures, one line each, with the path of the log."""
    return [
        f"{each.project} as {each.person}: {'; '.join(each.faults) or _fault(each)} ({each.log})"
        for each in results
        if not each.is_well
    ]


def _fault(result: Result) -> str:
    if result.end != "complete":
        return f"the session ended {result.end}"
    if not result.judged:
        return "no gate judged the change"
    return "blueflame.yaml was edited" if result.has_hand_edits else "the checkout was changed"


def _cells(result: Result) -> tuple[str, ...]:
    return (
        result.project,
        ", ".join(result.kinds),
        result.person,
        _seconds(result.setup_s, 1),
        _seconds(result.first_s, 2),
        _seconds(result.second_s, 2),
        ", ".join(f"{gate} {did}" for gate, did in result.on_base.items()) or "none",
        ", ".join(result.judged) or "none",
        result.end,
    )


def _seconds(value: float | None, digits: int) -> str:
    return "none" if value is None else f"{value:.{digits}f} s"
