"""Small results and reports of gates for tests."""

from workflows.domain.gate import GateReport, GateResult, WhyNothing
from workflows.domain.ids import Tree


def a_report(*results: GateResult, tree: str = "t") -> GateReport:
    return GateReport(tree=Tree(tree), results=results)


def passed(gate: str = "tests", **facts: object) -> GateResult:
    return GateResult(gate=gate, result="passed", exit_code=0).model_copy(update=facts)


def failed(*names: str, gate: str = "tests", exit_code: int = 1, **facts: object) -> GateResult:
    result = GateResult(gate=gate, result="failed", exit_code=exit_code, failures=names)
    return result.model_copy(update=facts)


def unfinished(reason: str = "time-out after 2 s", gate: str = "tests") -> GateResult:
    return GateResult(
        gate=gate,
        result="judged_nothing",
        why=WhyNothing.TIMED_OUT,
        exit_code=-9,
        reason=reason,
    )
