"""What a reviewer is told of the gates."""

from collections.abc import Mapping

from workflows.domain.gate import GateReport, GateResult, TestCounts, WhyNothing
from workflows.domain.ids import Tree
from workflows.policy.review.gate_lines import gate_lines


def report(*results: Mapping[str, object]) -> GateReport:
    found = (GateResult.model_validate({"exit_code": 0, **each}) for each in results)
    return GateReport(tree=Tree("t"), results=tuple(found))


def test_each_result_is_named_with_the_output_where_it_did_not_pass():
    told = gate_lines(
        report(
            {"gate": "lint", "result": "passed", "excerpt": "all good"},
            {"gate": "tests", "result": "passed", "tests": TestCounts(passed=12)},
            {"gate": "old", "result": "failed", "failures": ("t_a", "t_b"), "excerpt": "E 1 != 2"},
            {
                "gate": "types",
                "result": "judged_nothing",
                "why": WhyNothing.COULD_NOT_START,
                "reason": "'mypy' cannot be run",
                "excerpt": "no such file",
            },
        ),
        "gate 'lint' flaky",
    )
    assert told.splitlines() == [
        "lint: passed",
        "tests: passed (12 tests ran)",
        "old: failed, as on the base: t_a, t_b",
        "E 1 != 2",
        "types: judged nothing: could not start ('mypy' cannot be run)",
        "no such file",
        "gate 'lint' flaky",
    ]


def test_the_end_of_a_long_output_is_kept():
    told = gate_lines(report({"gate": "g", "result": "failed", "excerpt": "x" * 9_000 + "END"}), "")
    assert told.endswith("END")
    assert len(told) < 2_100


def test_many_gates_share_the_room():
    many = [{"gate": f"g{n}", "result": "failed", "excerpt": "x" * 6_000} for n in range(50)]
    assert len(gate_lines(report(*many), "")) < 13_000


def test_without_gates_the_reviewer_is_told_so():
    assert gate_lines(report(), "") == "no gates"
