"""What one run of a gate means, row by row."""

from typing import Any

import pytest

from workflows.domain.gate import GateFacts, TestCounts, WhyNothing
from workflows.policy.gates.gate_results import read_run


def facts(exit_code: int = 0, **more: Any) -> GateFacts:
    return GateFacts.model_validate({"end": "exited", "exit_code": exit_code, **more})


SKIPPED = TestCounts(skipped=3)
LIMIT: dict[str, Any] = {"ended_by": "time-out after 2 s"}
CUT: dict[str, Any] = {"cut_short": "stopping after 1 failures"}


@pytest.mark.parametrize(
    ("run", "result", "why", "reason"),
    [
        (facts(end="timed_out", **LIMIT), "judged_nothing", WhyNothing.TIMED_OUT, "after 2 s"),
        (
            facts(137, end="out_of_memory", ended_by="out of memory"),
            "judged_nothing",
            WhyNothing.STOPPED,
            "out of memory",
        ),
        (facts(139, ended_by="signal 11"), "judged_nothing", WhyNothing.STOPPED, "signal 11"),
        (facts(127, not_started="no cargo"), "judged_nothing", WhyNothing.COULD_NOT_START, "cargo"),
        (
            facts(5, none_found="no tests ran"),
            "judged_nothing",
            WhyNothing.NO_TESTS,
            "no tests ran",
        ),
        (facts(0, none_found="Ran 0 tests"), "judged_nothing", WhyNothing.NO_TESTS, "Ran 0"),
        (facts(0, tests=SKIPPED), "judged_nothing", WhyNothing.NO_TESTS, "all were skipped: 3"),
        (facts(0, tests=TestCounts()), "judged_nothing", WhyNothing.NO_TESTS, ""),
        (facts(0, **CUT), "judged_nothing", WhyNothing.CUT_SHORT, "stopping after"),
        (
            facts(0, tests=TestCounts(passed=1, failed=2)),
            "judged_nothing",
            WhyNothing.STOPPED,
            "exit code 0, although the runner counts failed tests: 2",
        ),
        (facts(0), "passed", None, ""),
        (facts(0, tests=TestCounts(passed=1, skipped=1)), "passed", None, ""),
        (facts(2, **CUT), "judged_nothing", WhyNothing.CUT_SHORT, "stopping after"),
        (facts(1, **CUT, failures=("a",)), "failed", None, ""),
        (facts(1, failures=("a",)), "failed", None, ""),
        (facts(1), "failed", None, ""),
    ],
)
def test_a_run_means_what_the_first_fitting_row_says(
    run: GateFacts, result: str, why: WhyNothing | None, reason: str
):
    reading = read_run(run)
    assert (reading.result, reading.why) == (result, why)
    assert reason in reading.reason
