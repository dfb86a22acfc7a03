"""What is said of the gates' results on the base, before any work is judged."""

import re
from typing import Final

from workflows.domain.gate import GateReport, GateResult
from workflows.policy.gates.gate_comparison import MAX_NAMED
from workflows.policy.gates.green_rule import NOTHING_MERGES, why_nothing

_CAUSE: Final = re.compile(r"[Ee]rror\b|not found|No such|[Cc]annot|[Mm]issing")
_CHARACTERS: Final = 160


def base_notices(report: GateReport) -> tuple[str, ...]:
    """Say in words which gates are not green on the base, and so judge less than one may think.

    Returns:
        One sentence a gate; one more where none judges, because then nothing merges by itself.
    """
    told = tuple(
        f"gate {result.gate!r} {_lack(result)}"
        for result in report.results
        if result.result != "passed"
    )
    if report.results and not any(_judges(result) for result in report.results):
        told = (*told, f"no gate judges the base: as long as none does, {NOTHING_MERGES}")
    return told


def _judges(result: GateResult) -> bool:
    """Whether work that changes nothing would be judged by the gate."""
    is_comparable = bool(result.failures) and not result.cut_short
    return result.result == "passed" or (result.result == "failed" and is_comparable)


def _lack(result: GateResult) -> str:
    if result.result == "judged_nothing":
        return f"judges nothing on the base: {why_nothing(result)}"
    if not result.failures:
        cause = f" ({said})" if (said := _cause(result)) else ""
        return f"fails on the base and names no tests{cause}: as long as it does, it judges nothing"
    count = len(result.failures)
    failures = f"failures: {count}{' or more' if count >= MAX_NAMED else ''}"
    if result.cut_short:
        return (
            f"fails on the base already ({failures}) and was cut short ({result.cut_short}):"
            " what it did not run there excuses nothing"
        )
    return f"fails on the base already ({failures}): only new failures count"


def _cause(result: GateResult) -> str:
    """Return the first line of the output that speaks of a cause, else its last one."""
    lines = [line.strip() for line in result.excerpt.splitlines() if line.strip()]
    told = next((line for line in lines if _CAUSE.search(line)), lines[-1] if lines else "")
    return told[:_CHARACTERS]
