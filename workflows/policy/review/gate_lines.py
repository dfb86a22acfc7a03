"""The gates' results in words for a reviewer, with the output of those that did not pass.

A reviewer is asked only if nothing new failed, so every failure here is on the base as well.
"""

from typing import Final

from workflows.domain.gate import GateReport, GateResult
from workflows.policy.gates.green_rule import NO_GATES, why_nothing

_EXCERPT: Final = 2_000
_ALL: Final = 10_000
"""Characters of all excerpts together, so that the model has room to think beside the diff."""
_NAMES: Final = 10


def gate_lines(report: GateReport, remarks: str) -> str:
    """Describe each gate's result.

    Args:
        report: on the submitted work.
        remarks: what a person is told about it: flakes, files that a gate changed.

    Returns:
        A line for each gate; if it did not pass, the end of its output below.
    """
    if not report.results:
        return NO_GATES
    room = min(_EXCERPT, _ALL // len(report.results))
    lines = [line for result in report.results for line in _of(result, room)]
    return "\n".join([*lines, *([remarks] if remarks else [])])


def _of(result: GateResult, room: int) -> list[str]:
    if result.result == "passed":
        ran = f" ({result.tests.ran} tests ran)" if result.tests is not None else ""
        return [f"{result.gate}: passed{ran}"]
    if result.result == "judged_nothing":
        return [f"{result.gate}: judged nothing: {why_nothing(result)}", *_end(result, room)]
    if not result.has_run:
        return [f"{result.gate}: was not run: {result.reason}"]
    names = f": {', '.join(result.failures[:_NAMES])}" if result.failures else ""
    return [f"{result.gate}: failed, as on the base{names}", *_end(result, room)]


def _end(result: GateResult, room: int) -> list[str]:
    text = result.excerpt.strip()
    return [text if len(text) <= room else f"[…]{text[-room:]}"] if text else []
