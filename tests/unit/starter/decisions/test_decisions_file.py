"""`starter.decisions.decisions_file`: a decisions file, read strictly, and what it decides."""

from pathlib import Path

import pytest

from starter.console.command_errors import CommandError
from starter.decisions.decisions_file import Decisions, on_changeset, on_plan
from starter.input.yaml_files import read_decisions
from workflows.domain.plan import Task

WHOLE = """
version: 1
plan:
  - {max_tasks: 2, max_risk: medium, decide: approve}
  - {decide: reject, reason: "at most two tasks"}
changesets:
  - {id: "docs-*", decide: approve}
  - {kinds: [docs, tests], max_risk: low, decide: approve}
  - {id: core, decide: wait}
failed: skip
cap: stop
raise_cap_to_usd: 20
"""


def task(name: str, kind: str = "code", risk: str = "low") -> Task:
    facts = {"title": name, "acceptance_criteria": ["c"], "claims": ["src"]}
    return Task.model_validate({"id": name, "kind": kind, "risk": risk, **facts})


def read(tmp_path: Path, text: str) -> Decisions:
    file = tmp_path / "decisions.yaml"
    file.write_text(text)
    return read_decisions(file)


@pytest.mark.parametrize(
    ("tasks", "decided"),
    [
        ([task("a"), task("b", risk="medium")], "approve"),
        ([task("a"), task("b"), task("c")], "reject"),
        ([task("a", risk="high")], "reject"),
    ],
)
def test_the_first_rule_that_fits_decides_on_a_plan(
    tmp_path: Path, tasks: list[Task], decided: str
) -> None:
    rule = on_plan(read(tmp_path, WHOLE), tasks)
    assert rule is not None
    assert rule.decide == decided


@pytest.mark.parametrize(
    ("name", "tasks", "decided"),
    [
        ("docs-1", [task("a", risk="high")], "approve"),
        ("x", [task("a", "docs"), task("b", "tests")], "approve"),
        ("x", [task("a", "docs", "medium")], None),
        ("x", [task("a")], None),
        ("core", [task("a")], "wait"),
    ],
)
def test_a_changeset_is_decided_by_id_or_by_its_tasks(
    tmp_path: Path, name: str, tasks: list[Task], decided: str | None
) -> None:
    rule = on_changeset(read(tmp_path, WHOLE), name, tasks)
    assert (rule and rule.decide) == decided


def test_an_empty_file_decides_nothing_and_stops_at_the_cap(tmp_path: Path) -> None:
    decisions = read(tmp_path, "version: 1")
    assert (on_plan(decisions, [task("a")]), decisions.failed) == (None, "wait")
    assert decisions.cap == "stop"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("version: 2", r"decisions.yaml:1:1: version"),
        ("version: 1\nplan:\n  - {decide: perhaps}", r":3:6: plan.0.decide"),
        ("version: 1\nfailde: skip", r":2:1: .*failed"),
        ("version: 1\nplan:\n  - {max_tasks: 3}", r":3:5: .*decide"),
        ("version: 1\nraise_cap_to_usd: -1", r":2:1: raise_cap_to_usd"),
        ("version: 1\nraise_cap_to_usd: 1e99", r":2:1: raise_cap_to_usd"),
        ("version: 1\nplan: [{id: p, decide: approve}]", r":2:9: .*id"),
        ("version: [1", r"decisions.yaml:"),
        ("version: 1\n" + "#" * 70_000, "shorten it"),
    ],
)
def test_a_complaint_names_its_place(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(CommandError, match=words):
        read(tmp_path, text)


def test_refuses_what_is_not_a_file(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="is not a file"):
        read_decisions(tmp_path / "nothing.yaml")
