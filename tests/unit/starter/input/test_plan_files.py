"""`starter.input.plan_files`: a plan as YAML and back, and an editor that a person runs."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from temporalio.service import RPCError, RPCStatusCode

from activities.yaml_documents.model_reader import parse_document
from starter.console.command_errors import CommandError
from starter.console.exit_codes import ExitCode
from starter.input.plan_files import as_yaml, edited, read_plan_file
from tests.unit.broken_yaml import yaml_texts
from workflows.domain.plan import Plan

pytestmark = pytest.mark.fuzz


def plan(*names: str, **more: Any) -> Plan:
    facts = {"title": "Fix: it", "acceptance_criteria": ["- yes"], "claims": ["src/**"], **more}
    return Plan.model_validate({"tasks": [{"id": name, **facts} for name in names]})


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), min_size=1))
def test_a_written_plan_is_read_as_it_was(text: str) -> None:
    before = plan("a", description=text, acceptance_criteria=[text])
    assert parse_document(Plan, as_yaml(before), "plan") == before


def test_the_file_says_what_saving_does_and_leaves_defaults_out() -> None:
    text = as_yaml(plan("a"))
    assert text.startswith("# The plan. Saved, it takes the place of the session's own")
    assert "priority" not in text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tasks: []", r"plan.yaml:1:1: tasks"),
        ("tasks:\n  - {id: a, titel: x}", r"plan.yaml:2:13: .*titel"),
        ("tasks:\n  - {id: A b, title: x}", r"plan.yaml:2:6: tasks.0.id: .*form 1 to 63 of a-z"),
        (as_yaml(plan("a", "a")), r"plan.yaml:11:3: task 'a' is there more than once"),
        (as_yaml(plan("a", depends_on=["b"])), r"plan.yaml:12:5: task 'a' depends on 'b'"),
    ],
)
def test_what_cannot_be_carried_out_is_refused(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text(text)
    with pytest.raises(CommandError, match=words):
        read_plan_file(file)


def test_all_faults_of_a_file_are_reported_at_once_in_order(tmp_path: Path) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text(
        """\
tasks:
  - id: a
    titel: A
    acceptance_criteria: [c]
    claims: [../x]
  - id: b
    title: B
    acceptance_criteria: []
    claims: [src/**]
    depends_on:
      - nope
      - c
  - {id: c, title: C, acceptance_criteria: [c], claims: [c], depends_on: [b]}
"""
    )
    with pytest.raises(CommandError) as refused:
        read_plan_file(file)
    faults = str(refused.value).replace(str(file), "F").splitlines()
    assert [fault.partition(": ")[0] for fault in faults] == [
        "F:2:5", "F:3:5", "F:5:14", "F:8:5", "F:11:9", "F:12:9",
    ]  # fmt: skip
    assert all("task 'a'" in each for each in faults[:3])
    assert "'title'?" in faults[1]
    assert "c→b→c" in "".join(faults) or "b→c→b" in "".join(faults)


def test_json_is_read_as_well(tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_text(plan("a", "b").model_dump_json())
    assert read_plan_file(file) == plan("a", "b")


@st.composite
def spoilt_plans(draw: st.DrawFn) -> str:
    """A valid plan except for some keys with mistakes."""
    text = as_yaml(plan("a", "b", depends_on=["a"], description="- x: y"))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(text)))
        text = (
            text[:at]
            + draw(st.sampled_from([*" \t\n:-#'\"[]{}&*!|>%@,", "a", ""]))
            + text[at + 1 :]
        )
    return text


PLAN_TEXTS = yaml_texts(
    "tasks:", "tasks", "id", "a", "title", "description", "acceptance_criteria", "claims", "src/**",
    "depends_on", "group", "priority", "- id: a",
)  # fmt: skip


@given(PLAN_TEXTS | spoilt_plans())
def test_any_text_is_a_plan_or_complaints_that_name_the_file(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    file = tmp_path_factory.getbasetemp() / "any plan.yaml"
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    outcome: str | Plan
    try:
        outcome = read_plan_file(file)
    except CommandError as error:
        outcome = str(error)
    if isinstance(outcome, str):
        assert all(line.startswith(str(file)) for line in outcome.splitlines())
    else:
        assert parse_document(Plan, as_yaml(outcome), "again") == outcome


def editor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: str) -> None:
    """Make a program that works on the file it is given the person's editor."""
    program = tmp_path / "editor.py"
    program.write_text(f"import pathlib, sys\nfile = pathlib.Path(sys.argv[1])\n{code}\n")
    monkeypatch.setenv("VISUAL", f"{sys.executable} {program}")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)


def kept(directory: Path) -> list[Path]:
    return list(directory.glob("blueflame-plan-*"))


async def saved(before: Plan) -> Plan | None:
    """Return what the person saves, as if it was sent."""
    async with edited(before, "blueflame plan s") as read:
        return read


CHANGE = "file.write_text(file.read_text().replace('Fix: it', 'Fix that'))"


async def test_the_saved_text_becomes_the_plan(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    editor(monkeypatch, tmp_path, CHANGE)
    async with edited(plan("a"), "blueflame plan s") as read:
        assert read == plan("a", title="Fix that")
    assert kept(tmp_path) == []


@pytest.mark.parametrize("code", ["pass", "file.write_text('')"])
async def test_an_unchanged_file_sends_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: str
) -> None:
    editor(monkeypatch, tmp_path, code)
    assert await saved(plan("a")) is None


FAULTY = "file.write_text('tasks: []')"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (FAULTY, "tasks"),
        (f"{CHANGE}; sys.exit(3)", "ended with code 3; nothing was sent"),
        (f"{CHANGE}; import os; os.kill(os.getpid(), 9)", "was ended by signal 9; nothing was"),
    ],
)
async def test_a_text_that_is_not_sent_is_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: str, words: str
) -> None:
    editor(monkeypatch, tmp_path, code)
    with pytest.raises(CommandError, match=words) as refused:
        await saved(plan("a"))
    assert refused.value.code == ExitCode.USAGE
    (file,) = kept(tmp_path)
    assert f"`blueflame plan s --file {file}`" in str(refused.value)


@pytest.mark.parametrize(
    "error",
    [
        CommandError("the session says: no", ExitCode.STALE),
        RPCError("gone", RPCStatusCode.UNAVAILABLE, b""),
    ],
)
async def test_a_text_that_the_session_refuses_or_does_not_get_is_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: Exception
) -> None:
    editor(monkeypatch, tmp_path, CHANGE)
    with pytest.raises(CommandError, match="your text is kept"):
        async with edited(plan("a"), "blueflame plan s"):
            raise error
    (file,) = kept(tmp_path)
    assert "Fix that" in file.read_text()


@pytest.mark.parametrize(
    ("code", "words"),
    [("sys.exit(3)", "ended with code 3"), ("file.unlink(); sys.exit(3)", "ended with code 3")],
)
async def test_where_no_text_was_written_none_is_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: str, words: str
) -> None:
    editor(monkeypatch, tmp_path, code)
    with pytest.raises(CommandError, match=words) as refused:
        await saved(plan("a"))
    assert (refused.value.code, "is kept" in str(refused.value)) == (ExitCode.USAGE, False)
    assert kept(tmp_path) == []


async def test_an_interrupted_editor_reports_where_the_text_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    told = tmp_path / "told"
    os.mkfifo(told)
    waits = f"{CHANGE}; open({str(told)!r}, 'w').close(); import signal; signal.pause()"
    editor(monkeypatch, tmp_path, waits)
    editing = asyncio.create_task(saved(plan("a")))
    await asyncio.to_thread(told.read_bytes)
    editing.cancel()
    with pytest.raises(CommandError, match="interrupted; nothing was sent") as refused:
        await editing
    assert refused.value.code == ExitCode.INTERRUPTED
    assert str(*kept(tmp_path)) in str(refused.value)


async def test_an_editor_that_is_not_there_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("VISUAL", str(tmp_path / "no-editor"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(CommandError, match="no-editor' cannot be started") as refused:
        await saved(plan("a"))
    assert refused.value.code == ExitCode.USAGE
    assert kept(tmp_path) == []
