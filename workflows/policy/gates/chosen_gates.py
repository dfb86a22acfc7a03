"""Which gates run on a change, and in which order: only those concerned, cheap ones first.

| the gate                                                   | on the base | on a change        |
|------------------------------------------------------------|-------------|--------------------|
| has `paths`, and the change touches none of them           | runs        | not concerned      |
| is not cheap, and a cheap one found something new          | runs        | spared             |
| any other                                                  | runs        | runs               |

What did not run says nothing, for and against. For the next change that stands on it, what the base
said before still holds of a gate that was not concerned.
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
    """Cheap ones, where some others follow; what they find new spares those."""
    then: tuple[GateSpec, ...]
    others: tuple[GateResult, ...]
    """Results of those that are not concerned."""


def choose(gates: Sequence[GateSpec], changed: Sequence[str] | None) -> Chosen:
    """Say which gates run.

    Args:
        gates: the session's.
        changed: all paths that differ from what the change stands on; None: this is the base, on
            which every gate runs, none before another.
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
    """Tell whether a gate judges what these paths say."""
    return not gate.paths or any(touches(path, gate.paths) for path in changed)


def touches(path: str, patterns: Sequence[str]) -> bool:
    """Tell whether a path is meant by one of the patterns.

    Args:
        path: from the repository's root.
        patterns: `*` and `?` stay within a folder, `**` crosses them; a pattern without any of them
            also means all below it.
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
    """Return the results of gates that were not run, because those of these names found enough."""
    reason = f"{', '.join(by)} failed before it"
    return tuple(_not_run(gate, "spared", reason) for gate in gates)


def in_order(gates: Sequence[GateSpec], results: Sequence[GateResult]) -> tuple[GateResult, ...]:
    """Return results in the order of the gates."""
    places = {gate.name: place for place, gate in enumerate(gates)}
    return tuple(sorted(results, key=lambda result: places[result.gate]))


def as_baseline(before: GateReport, report: GateReport) -> GateReport:
    """Return the baseline for what stands on a change: gates that did not run count as before.

    Args:
        before: the baseline of the change.
        report: its own gates.
    """
    known = {result.gate: result for result in before.results}
    results = (r if r.has_run else known.get(r.gate, r) for r in report.results)
    return GateReport(tree=report.tree, results=tuple(results), notices=report.notices)


def _not_run(gate: GateSpec, result: NotRun, reason: str) -> GateResult:
    return GateResult(gate=gate.name, result=result, exit_code=0, reason=reason)
