"""Decides whether work passes its gates: only new failures block, only gates that ran judge.

Results are compared with the baseline, the same gates' results on the base. A gate that judged
nothing neither passed nor failed, so it is not reported as failed tests. Does not run anything.

| now                      | at the base           | means                             | judged |
|--------------------------|-----------------------|-----------------------------------|--------|
| passed, no closing line  | passed, with one      | blocks: the run ended early       | no     |
| passed                   | anything else         | pass                              | yes    |
| failed, named            | failed, named         | new: names not among the base's   | yes    |
| failed, named            | anything else         | new: all names                    | yes    |
| … nothing new, cut short | cut short too         | known; the rest did not run       | no     |
| … nothing new, cut short | ran to its end        | blocks: tests did not run         | no     |
| failed, unnamed          | failed, unnamed       | known; nothing can be compared    | no     |
| failed, unnamed          | anything else         | new: the gate                     | yes    |
| judged nothing           | judged nothing        | known                             | no     |
| judged nothing           | anything else         | blocks                            | no     |
| spared                   | anything              | blocks, as the cheaper one does   | no     |
| not concerned            | anything              | nothing                           | no     |
| absent                   | there                 | blocks: none passes by not running| no     |

A known failure passes even if its output names another cause than on the base; the remarks show it.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple, assert_never

from workflows.domain.gate import GateDecision, GateReport, GateResult, Judgement, WhyNothing
from workflows.policy.gates.green_rule import why_nothing

MAX_NAMED: Final = 200
"""The most failures that a result names, sorted; later ones are unknown."""
MAX_NOTES: Final = 12_000
_MAX_LISTED: Final = 20
_CAUSE: Final = re.compile(r"[a-z](?:Error|Exception)\b|assert|panic|[Ee]xpected")
_CUT: Final = re.compile(r"^… \d+ lines? left out …$|^\[output cut", re.MULTILINE)
_MOVING: Final = re.compile(r"0x[0-9a-fA-F]+|(?<=:)\d+")
"""Addresses and line numbers, which do not tell a failure's cause."""


class _Judged(NamedTuple):
    """One gate's part in the decision; failures as `gate: test`, or `gate` alone."""

    gate: str
    new: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    nothing: str = ""
    """Why it judged nothing; empty if it judged."""
    blocks: bool = False
    note: str = ""
    remark: str = ""


def judge_gates(baseline: GateReport | None, report: GateReport) -> GateDecision:
    """Decide whether work passes its gates.

    Args:
        baseline: the gates' report on the base; None: there is none, and every failure is new.
        report: their report on the work, after the rerun if one was due.

    Returns:
        The decision, with notes for the next attempt of at most `MAX_NOTES` characters.
    """
    judged = _judge_all(baseline, report)
    return GateDecision(
        passes=not any(part.blocks for part in judged),
        judgement=Judgement(
            by=tuple(part.gate for part in judged if not part.nothing and not part.new),
            nothing=tuple(f"{part.gate}: {part.nothing}" for part in judged if part.nothing),
        ),
        new_failures=tuple(name for part in judged for name in part.new),
        known_failures=tuple(name for part in judged for name in part.known),
        missing=tuple(
            _full_name(result.gate, name) for result in report.results for name in result.missing
        ),
        notes="\n".join(part.note for part in judged if part.note)[:MAX_NOTES],
        remarks="\n".join(part.remark for part in judged if part.remark)[:MAX_NOTES],
    )


def is_green(report: GateReport) -> bool:
    """Say whether every concerned gate passed, so that later work has no known failures."""
    return all(result.result in {"passed", "not_concerned"} for result in report.results)


def needs_rerun(baseline: GateReport | None, report: GateReport) -> tuple[str, ...]:
    """Name the gates with new failures that have not had their one rerun against flakes.

    Args:
        baseline: the gates' report on the base, or None.
        report: their report on the work.

    Returns:
        Gate names in the report's order.
    """
    rerun = {result.gate for result in report.results if result.rerun}
    judged = _judge_all(baseline, report)
    return tuple(part.gate for part in judged if part.new and part.gate not in rerun)


def merge_rerun(first: GateReport, second: GateReport) -> GateReport:
    """Replace the first run's results by those of the rerun.

    Args:
        first: the whole report.
        second: the report of the gates that ran again, on the same tree.

    Returns:
        The whole report. A gate that passed in the rerun passed, and its reason names the flaky
        tests. If both runs failed, the failures of both count, or the second's if none is in both.

    Raises:
        ValueError: the two are about different trees.
    """
    if first.tree != second.tree:
        raise ValueError(
            f"a rerun of {first.tree!r} cannot be one of {second.tree!r}: run it on the same tree"
        )
    again = {result.gate: result for result in second.results}
    results = (_settle(r, again[r.gate]) if r.gate in again else r for r in first.results)
    return GateReport(tree=first.tree, results=tuple(results), notices=first.notices)


def _settle(first: GateResult, again: GateResult) -> GateResult:
    """Return one result for two runs of a gate."""
    changed = tuple(sorted({*first.changed_files, *again.changed_files}))
    first = first.evolve(rerun=True, changed_files=changed)
    again = again.evolve(rerun=True, changed_files=changed)
    if first.result != "failed":
        return again
    if again.result == "judged_nothing":
        return first.evolve(reason=f"the rerun judged nothing: {why_nothing(again)}")
    once = sorted({*first.failures} ^ {*again.failures})
    if again.result == "passed":
        return again.evolve(reason=f"flaky: failed once, passed when run again{_listed(once)}")
    both = sorted({*first.failures} & {*again.failures})
    reason = f"flaky, failed in one of two runs{_listed(once)}" if both and once else again.reason
    return again.evolve(failures=tuple(both) or again.failures, reason=reason)


def _judge_all(baseline: GateReport | None, report: GateReport) -> tuple[_Judged, ...]:
    bases = {result.gate: result for result in baseline.results} if baseline else {}
    present = {result.gate for result in report.results}
    return (
        *(_judge(bases.get(result.gate), result) for result in report.results),
        *(
            _Judged(gate, nothing="did not run", blocks=True, note=f"gate {gate!r} did not run")
            for gate in bases
            if gate not in present
        ),
    )


def _judge(base: GateResult | None, result: GateResult) -> _Judged:
    """Judge one gate by the table."""
    match result.result:
        case "passed":
            return _judge_passed(base, result)
        case "judged_nothing":
            known = base is not None and base.result == "judged_nothing"
            return _judged_nothing(result, why_nothing(result), known=known)
        case "failed":
            return _judge_failed(base, result)
        case "spared":
            why = f"was spared: {result.reason}"
            return _Judged(result.gate, nothing=why, blocks=True, note=_note(result, why))
        case "not_concerned":
            return _Judged(result.gate, nothing=f"not concerned: {result.reason}")
        case _:
            assert_never(result.result)


def _judge_passed(base: GateResult | None, result: GateResult) -> _Judged:
    if result.tests is None and base is not None and base.result == "passed" and base.tests:
        words = f"{WhyNothing.STOPPED} (exit code 0, without the closing line of its test runner)"
        return _judged_nothing(result, words, known=False)
    note = _note(result, result.reason)
    return _Judged(result.gate, note=note, remark=note)


def _judged_nothing(result: GateResult, nothing: str, *, known: bool) -> _Judged:
    words = f"judged nothing: {nothing}{', as on the base' if known else ''}"
    missing = f"; these ran on the base{_listed(result.missing)}" if result.missing else ""
    note = _note(result, words + missing, excerpt=not known)
    remark = _note(result, "")
    return _Judged(result.gate, nothing=nothing, blocks=not known, note=note, remark=remark)


def _judge_failed(base: GateResult | None, result: GateResult) -> _Judged:
    new, known = _compared(base, result)
    if not new and base is not None:
        if result.cut_short:
            words = f"{WhyNothing.CUT_SHORT} ({result.cut_short})"
            return _judged_nothing(result, words, known=bool(base.cut_short))
        if not result.failures:
            return _failed_as_before(base, result, known, "failed as on the base, naming no tests")
    return _failed_as_before(base, result, known, "", new)


def _compared(
    base: GateResult | None, result: GateResult
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the new failures and the known ones; an empty name is the gate's own."""
    is_comparable = (
        base is not None
        and base.result == "failed"
        and bool(base.failures) == bool(result.failures)
    )
    if base is None or not is_comparable:
        return result.failures or ("",), ()
    if not result.failures:
        return (), ("",)
    new = tuple(name for name in result.failures if not _is_known(name, base))
    return new, tuple(name for name in result.failures if name not in new)


def _failed_as_before(
    base: GateResult | None,
    result: GateResult,
    known: tuple[str, ...],
    nothing: str,
    new: tuple[str, ...] = (),
) -> _Judged:
    parts = [f"failed{_listed(new)}"] if new else []
    parts += [f"failed on the base already{_listed(known)}"] if known else []
    odd = _oddities(base, result) if base is not None and known else []
    odd = [result.reason, *odd] if result.reason else odd
    return _Judged(
        result.gate,
        new=tuple(_full_name(result.gate, name) for name in new),
        known=tuple(_full_name(result.gate, name) for name in known),
        nothing=nothing,
        blocks=bool(new),
        note=_note(result, "; ".join([*parts, *odd]), excerpt=bool(new)),
        remark=_note(result, "; ".join(["failed as on the base", *odd]) if odd else ""),
    )


def _oddities(base: GateResult, result: GateResult) -> list[str]:
    """Say what differs from the base although no failure is new."""
    parts: list[str] = []
    if base.exit_code != result.exit_code:
        parts.append(f"with exit code {result.exit_code} now, {base.exit_code} on the base")
    if lines := _other_causes(base, result):
        parts.append("and says what it did not on the base:\n" + "\n".join(lines))
    return parts


def _other_causes(base: GateResult, result: GateResult) -> tuple[str, ...]:
    """Return the first lines that look like a cause and are not in the base's whole output."""
    if _CUT.search(base.excerpt):
        return ()
    before = {_MOVING.sub("", line) for line in base.excerpt.splitlines()}
    lines = (line for line in result.excerpt.splitlines() if _CAUSE.search(line))
    return tuple(line for line in lines if _MOVING.sub("", line) not in before)[:_MAX_LISTED]


def _is_known(name: str, base: GateResult) -> bool:
    """Say whether a failure was on the base; names past the end of a full list count as known."""
    names = base.failures
    return name in names or (len(names) >= MAX_NAMED and name > names[-1])


def _full_name(gate: str, failure: str) -> str:
    return f"{gate}: {failure}" if failure else gate


def _listed(names: Sequence[str]) -> str:
    """Write the first few names after a colon, and how many more; empty without names."""
    shown = [name for name in names if name]
    more = len(shown) - _MAX_LISTED
    tail = f" and {more} more" if more > 0 else ""
    return f": {', '.join(shown[:_MAX_LISTED])}{tail}" if shown else ""


def _note(result: GateResult, words: str, *, excerpt: bool = False) -> str:
    """Write one gate's note; empty for a plain pass."""
    lines = [f"gate {result.gate!r} {words}"] if words else []
    if result.changed_files:
        lines.append(f"gate {result.gate!r} changed tracked files{_listed(result.changed_files)}")
    if excerpt and result.excerpt:
        lines.append(result.excerpt)
    return "\n".join(lines)
