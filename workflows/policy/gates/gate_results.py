"""Decides what one run of a gate means: it passed, failed, or judged nothing.

The first matching row counts. A run that judged nothing neither passed nor failed: it approves no
work, and no agent has to fix correct code because of it.

| the run                                                  | result         | why             |
|----------------------------------------------------------|----------------|-----------------|
| was ended by the gate's time limit                       | judged nothing | timed out       |
| was ended by another limit or a signal                   | judged nothing | stopped         |
| lacked its program, a module of its own, or a plugin     | judged nothing | could not start |
| found no tests, as the runner says                       | judged nothing | no tests        |
| ended with 0; tests were left out, as the runner says    | judged nothing | cut short       |
| ended with 0; no test ran, all were skipped              | judged nothing | no tests        |
| ended with 0; the runner counts failed tests             | judged nothing | stopped         |
| ended with 0                                             | passed         |                 |
| ended otherwise; tests were left out, none is named      | judged nothing | cut short       |
| ended otherwise                                          | failed         |                 |

Whether a failure is new, and whether a run that was cut short can be compared, is
`gate_comparison`'s.
"""

from typing import Literal, NamedTuple

from workflows.domain.gate import GateFacts, WhyNothing


class GateReading(NamedTuple):
    """The meaning of one run."""

    result: Literal["passed", "failed", "judged_nothing"]
    why: WhyNothing | None = None
    reason: str = ""


def read_run(facts: GateFacts) -> GateReading:
    """Return the meaning of a gate's run, by the table above."""
    if facts.end == "timed_out":
        return _nothing(WhyNothing.TIMED_OUT, facts.ended_by)
    if facts.ended_by:
        return _nothing(WhyNothing.STOPPED, facts.ended_by)
    if facts.not_started:
        return _nothing(WhyNothing.COULD_NOT_START, facts.not_started)
    if facts.none_found:
        return _nothing(WhyNothing.NO_TESTS, facts.none_found)
    return _succeeded(facts) if facts.exit_code == 0 else _failed(facts)


def _succeeded(facts: GateFacts) -> GateReading:
    tests = facts.tests
    if facts.cut_short:
        return _nothing(WhyNothing.CUT_SHORT, facts.cut_short)
    if tests is not None and tests.ran == 0:
        reason = f"all were skipped: {tests.skipped}" if tests.skipped else ""
        return _nothing(WhyNothing.NO_TESTS, reason)
    if tests is not None and tests.failed:
        reason = f"exit code 0, although the runner counts failed tests: {tests.failed}"
        return _nothing(WhyNothing.STOPPED, reason)
    return GateReading("passed")


def _failed(facts: GateFacts) -> GateReading:
    if facts.cut_short and not facts.failures:
        return _nothing(WhyNothing.CUT_SHORT, facts.cut_short)
    return GateReading("failed")


def _nothing(why: WhyNothing, reason: str) -> GateReading:
    return GateReading("judged_nothing", why, reason)
