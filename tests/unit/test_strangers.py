"""What `scripts/strangers` tries and says, as far as it is pure; the script itself fetches."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from activities.adapters.models.scripted.playbook import parse_playbook
from benchmarks.strangers.stranger_projects import PROJECTS
from benchmarks.strangers.stranger_results import Result, faults, summary, table
from benchmarks.strangers.stranger_session import playbook
from benchmarks.strangers.stranger_shape import Kind, Project

WELL = Result(
    project="shop",
    kinds=("uv",),
    person="root",
    setup_s=12.34,
    first_s=0.111,
    second_s=0.05,
    on_base={"ruff": "passed", "pytest": "failed"},
    judged=("ruff", "pytest"),
    end="complete",
    is_identical=True,
    log="/logs/course.log",
)


def test_each_kind_is_tried():
    tried = [kind for project in PROJECTS for kind in project.kinds]
    assert {*tried} == {*get_args(Kind)}
    assert len(PROJECTS) >= 12
    assert len({project.name for project in PROJECTS}) == len(PROJECTS)


@pytest.mark.parametrize(("source", "least"), [("pypi", 6), ("npm", 4), ("debian", 1)])
def test_each_registry_gives_enough_projects(source: str, least: int):
    found = [
        project
        for project in PROJECTS
        if len(project.parts) == 1 and project.parts[0].archive.source == source
    ]
    assert len(found) >= least


@pytest.mark.parametrize("project", PROJECTS, ids=lambda project: project.name)
def test_each_release_is_named_by_version_and_digest(project: Project):
    for part in project.parts:
        assert part.archive.version[0].isdigit()
        assert re.fullmatch("[0-9a-f]{64}", part.archive.sha256)


@pytest.mark.parametrize("project", PROJECTS, ids=lambda project: project.name)
def test_each_playbook_can_be_played(project: Project, tmp_path: Path):
    for path in project.appended:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("first\nsecond\n")
    said = playbook(project, tmp_path)
    assert parse_playbook(json.dumps(said), "strangers").name == "strangers"
    (verdict,) = said["scenes"][2]["turns"][0]["calls"]
    for cited in verdict["submit_verdict"]["evidence"]:
        lines = ["first", "second", *project.appended[cited["path"]].splitlines()]
        assert cited["quote"] in lines[cited["line_start"] - 1]


def test_the_table_has_a_row_for_each_person():
    none = Result("kit", ("Rust",), "someone")
    assert table([WELL, none]).splitlines()[2:] == [
        (
            "| shop | uv | root | 12.3 s | 0.11 s | 0.05 s | ruff passed, pytest failed "
            "| ruff, pytest | complete |"
        ),
        "| kit | Rust | someone | none | none | none | none | none | not begun |",
    ]


def test_a_project_counts_if_it_succeeded_for_every_user():
    worse = replace(WELL, person="someone", judged=("ruff",), is_identical=False)
    other = replace(WELL, project="kit", end="failed")
    assert json.loads(summary([WELL, worse, other])) == {
        "projects": 2,
        "gates_that_judged": 3,
        "sessions_complete": 1,
        "hand_edits": 0,
        "checkouts_identical": 1,
    }


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (WELL, []),
        (replace(WELL, end="failed"), ["the session ended failed"]),
        (replace(WELL, judged=()), ["no gate judged the change"]),
        (replace(WELL, is_identical=False), ["the checkout was changed"]),
        (replace(WELL, has_hand_edits=True), ["blueflame.yaml was edited"]),
        (replace(WELL, faults=["no cargo", "no rustc"]), ["no cargo; no rustc"]),
    ],
)
def test_failures_are_named_with_their_logs(result: Result, said: list[str]):
    assert faults([result]) == [f"shop as root: {each} (/logs/course.log)" for each in said]
