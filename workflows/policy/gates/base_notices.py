"""Reports the gates' results on the base, before any work is judged.

| on the base                                  | `approvals`               | the session      |
|----------------------------------------------|---------------------------|------------------|
| there are no gates                           | any                       | goes on; notice  |
| at least one gate passed or failed by itself | any                       | goes on; notice  |
| every gate judged nothing                    | `unjudged: allow`         | goes on; notice  |
| every gate judged nothing                    | `unjudged_base: allow`    | goes on; notice  |
| every gate judged nothing                    | `ask` and `stop`          | ends, unpaid     |

A gate that fails on the base may pass after the work, so it does not end the session.
"""

from typing import Final

from workflows.domain.gate import GateReport, GateResult
from workflows.domain.session.session_config import Approvals
from workflows.policy.gates.gate_comparison import MAX_NAMED
from workflows.policy.gates.green_rule import NOTHING_MERGES, why_nothing
from workflows.policy.gates.likely_causes import cause_of, remedy_of

_NONE_JUDGES: Final = "no gate can judge the base, so nothing was planned and no model was paid:"
_GO_ON: Final = (
    "`blueflame doctor --repo PATH` runs the gates and names the lines to add; to continue anyway, "
    "use `run --allow-unjudged-base`: work that no gate judges then waits for you"
)


def base_notices(report: GateReport) -> tuple[str, ...]:
    """Return notices about gates that do not pass on the base, and so judge less than expected.

    Returns:
        One sentence for each such gate, and one more if no gate judges the base.
    """
    told = tuple(
        f"gate {result.gate!r} {what_it_lacks(result)}"
        for result in report.results
        if result.result != "passed"
    )
    if report.results and not any(_judges(result) for result in report.results):
        told = (*told, f"no gate judges the base: as long as none does, {NOTHING_MERGES}")
    return told


def base_refusal(report: GateReport, approvals: Approvals) -> str:
    """Say why a session ends unpaid, by the table above; empty if it goes on."""
    judged = [result for result in report.results if result.result != "judged_nothing"]
    if judged or not report.results or "allow" in {approvals.unjudged, approvals.unjudged_base}:
        return ""
    lines = [f"gate {each.gate!r}: {why_nothing_there(each)}" for each in report.results]
    return "\n".join((_NONE_JUDGES, *lines, _GO_ON))


def why_nothing_there(result: GateResult) -> str:
    """Say why a gate judges nothing on the base, and suggest a fix."""
    return f"{why_nothing(result)}{_likely(result)}"


def why_red_there(result: GateResult) -> str:
    """Quote the cause from the output of a gate that fails on the base, and suggest a fix."""
    said = cause_of(result)
    return f"{f'. It says: {said}' if said else ''}{_likely(result)}"


def _likely(result: GateResult) -> str:
    return f"; {remedy}" if (remedy := remedy_of(result)) else ""


def _judges(result: GateResult) -> bool:
    """Say whether the gate would judge work that changes nothing."""
    is_comparable = bool(result.failures) and not result.cut_short
    return result.result == "passed" or (result.result == "failed" and is_comparable)


def what_it_lacks(result: GateResult) -> str:
    """Say what a gate that did not pass on the base cannot judge."""
    if result.result == "judged_nothing":
        return f"judges nothing on the base: {why_nothing_there(result)}"
    if not result.failures:
        said = f" ({cause})" if (cause := cause_of(result)) else ""
        return (
            f"fails on the base and names no tests{said}: as long as it does, it judges nothing"
            f"{_likely(result)}"
        )
    count = len(result.failures)
    failures = f"failures: {count}{' or more' if count >= MAX_NAMED else ''}"
    if result.cut_short:
        return (
            f"fails on the base already ({failures}) and was cut short ({result.cut_short}):"
            f" tests that did not run there are not known failures{why_red_there(result)}"
        )
    return f"fails on the base already ({failures}): only new failures count{why_red_there(result)}"
