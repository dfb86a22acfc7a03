"""What is said of the gates' results on the base, before any work is judged.

| on the base                                  | `approvals`               | the session      |
|----------------------------------------------|---------------------------|------------------|
| there are no gates                           | any                       | goes on, told so |
| at least one gate passed or failed by itself | any                       | goes on, told so |
| every gate judged nothing                    | `unjudged: allow`         | goes on, told so |
| every gate judged nothing                    | `unjudged_base: allow`    | goes on, told so |
| every gate judged nothing                    | `ask` and `stop`          | ends, unpaid     |

A gate that fails on the base may pass on what is done, so it is no reason to end.
"""

from typing import Final

from workflows.domain.gate import GateReport, GateResult
from workflows.domain.session.session_config import Approvals
from workflows.policy.gates.gate_comparison import MAX_NAMED
from workflows.policy.gates.green_rule import NOTHING_MERGES, why_nothing
from workflows.policy.gates.likely_causes import cause_of, remedy_of

_NONE_JUDGES: Final = "no gate can judge the base, so nothing was planned and no model was paid:"
_GO_ON: Final = (
    "`blueflame doctor --repo PATH` runs the gates and names the lines to add; to go on all the "
    "same, give `run --allow-unjudged-base`, and what no gate judges waits for you"
)


def base_notices(report: GateReport) -> tuple[str, ...]:
    """Say in words which gates are not green on the base, and so judge less than one may think.

    Returns:
        One sentence a gate; one more where none judges, because then nothing merges by itself.
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
    """Say why a session ends unpaid, by the table above; empty where it goes on."""
    judged = [result for result in report.results if result.result != "judged_nothing"]
    if judged or not report.results or "allow" in {approvals.unjudged, approvals.unjudged_base}:
        return ""
    lines = [f"gate {each.gate!r}: {why_nothing_there(each)}" for each in report.results]
    return "\n".join((_NONE_JUDGES, *lines, _GO_ON))


def why_nothing_there(result: GateResult) -> str:
    """Say why a gate judges nothing on the base, with what would likely help."""
    return f"{why_nothing(result)}{_likely(result)}"


def why_red_there(result: GateResult) -> str:
    """Say what a gate that fails on the base says of the cause, with what would likely help."""
    said = cause_of(result)
    return f"{f'. It says: {said}' if said else ''}{_likely(result)}"


def _likely(result: GateResult) -> str:
    return f"; {remedy}" if (remedy := remedy_of(result)) else ""


def _judges(result: GateResult) -> bool:
    """Whether work that changes nothing would be judged by the gate."""
    is_comparable = bool(result.failures) and not result.cut_short
    return result.result == "passed" or (result.result == "failed" and is_comparable)


def what_it_lacks(result: GateResult) -> str:
    """Say why a gate that did not pass on the base judges less, or nothing."""
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
            f" what it did not run there excuses nothing{why_red_there(result)}"
        )
    return f"fails on the base already ({failures}): only new failures count{why_red_there(result)}"
