"""Decides which gates run on a change, and in which order: concerned ones only, cheap ones first.

| the gate                                                   | on the base | on a change        |
|------------------------------------------------------------|-------------|--------------------|
| has `paths`, and the change touches none of them           | runs        | not concerned      |
| is not cheap, and a cheap one found something new          | runs        | spared             |
| any other                                                  | runs        | runs               |

A gate that did not run counts neither for nor against the change. If it was not concerned, its
result on the base stays in the baseline of the next change.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from workflows.domain.gate import GateReport, GateResult, GateSpec, NotRun

_UNTOUCHED: Final = "the change touches none of its `paths`"


class Chosen(NamedTuple):
    """The gates of one run."""

    first: tuple[GateSpec, ...]
    """The cheap ones, if others follow; new failures in them spare the others."""
    then: tuple[GateSpec, ...]
    others: tuple[GateResult, ...]
    """The results of those that are not concerned."""


def choose(gates: Sequence[GateSpec], changed: Sequence[str] | None) -> Chosen:
    """Return which gates run.

    Args:
        gates: the session's gates.
        changed: all paths that differ from the commit that the change is based on; None: this is
            the base, on which all gates run at the same time.
    """
    if changed is None:
        return Chosen((), tuple(gates), ())
    asked = [gate for gate in gates if is_concerned(gate, changed)]
    absent = [gate for gate in gates if gate not in asked]
    cheap = tuple(gate for gate in asked if gate.cheap)
    rest = tuple(gate for gate in asked if not gate.cheap)
    others = tuple(_not_run(gate, "not_concerned", _UNTOUCHED) for gate in absent)
    return Chosen(cheap, rest, others) if rest else Chosen((), cheap, others)


def is_concerned(gate: GateSpec, changed: Sequence[str]) -> bool:
    """Say whether a gate runs on a change of these paths."""
    return not gate.paths or any(touches(path, gate.paths) for path in changed)


def touches(path: str, patterns: Sequence[str]) -> bool:
    """Say whether one of the patterns matches a path.

    Args:
        path: from the repository's root.
        patterns: `*` and `?` match within a folder, `**` across folders; a pattern without them
            also matches everything below it.
    """
    return any(_compiled(pattern).fullmatch(path) for pattern in patterns)


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    text = pattern.removeprefix("./").rstrip("/")
    if not set("*?") & set(text):
        return re.compile(rf"{re.escape(text)}(?:/.*)?", re.DOTALL)
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", text)
    meant = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(meant.get(part, re.escape(part)) for part in parts), re.DOTALL)


def spared(gates: Sequence[GateSpec], by: Sequence[str]) -> tuple[GateResult, ...]:
    """Return the results of gates that did not run because the named ones failed."""
    reason = f"{', '.join(by)} failed before it"
    return tuple(_not_run(gate, "spared", reason) for gate in gates)


def in_order(gates: Sequence[GateSpec], results: Sequence[GateResult]) -> tuple[GateResult, ...]:
    """Return results in the order of the gates."""
    places = {gate.name: place for place, gate in enumerate(gates)}
    return tuple(sorted(results, key=lambda result: places[result.gate]))


def as_baseline(before: GateReport, report: GateReport) -> GateReport:
    """Return the baseline for work based on a change: gates that did not run keep their results.

    Args:
        before: the baseline of the change.
        report: the change's own results.
    """
    known = {result.gate: result for result in before.results}
    results = (r if r.has_run else known.get(r.gate, r) for r in report.results)
    return GateReport(tree=report.tree, results=tuple(results), notices=report.notices)


def _not_run(gate: GateSpec, result: NotRun, reason: str) -> GateResult:
    return GateResult(gate=gate.name, result=result, exit_code=0, reason=reason)
