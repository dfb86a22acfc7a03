"""The documents are true to the code: links, commands, options, targets, variables, words, files.

Blocks that `<!-- transcript -->` precedes show what a run once printed; they are not compared.
"""

import ast
import json
import re
import runpy
from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Any, get_args

import pytest
import typer.main
from pydantic import BaseModel

from activities.adapters.models.scripted.playbook import (
    ErrorKind,
    Playbook,
    Scene,
    ScriptedError,
    ScriptedTurn,
    parse_playbook,
)
from activities.ports.model_provider import Stop
from activities.toolset.tool_schemas import schema, tools_for
from starter.cli import app
from starter.configuration.file_shape import read_file
from starter.console.exit_codes import ExitCode
from starter.input.plan_files import read_plan_file
from starter.input.yaml_files import read_decisions
from workflows.domain.agent.agent_values import AgentEnd
from workflows.domain.agent.model_values import Prices, Role, Usage
from workflows.domain.changeset import ChangesetState
from workflows.domain.plan import Plan
from workflows.domain.session.notice import NoticeKind
from workflows.domain.session.session_config import Routes, SessionConfig
from workflows.domain.session.session_modes import SessionPhase
from workflows.domain.session.session_state import SessionState
from workflows.domain.task import TaskState
from workflows.policy.decision import decisions
from workflows.policy.plan.plan_check import plan_faults, read_plan
from workflows.policy.session.scheduling import MERGED_TOGETHER

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PACKAGES = ("activities", "starter", "workers", "workflows")
PAGES = (
    *sorted(DOCS.glob("*.md")),
    *(
        ROOT / name
        for name in ("README.md", "CONTRIBUTING.md", "AGENTS.md", "CHANGELOG.md", "SECURITY.md")
    ),
    ROOT / "examples" / "demo" / "README.md",
    ROOT / "examples" / "systemd" / "README.md",
)
TRANSCRIPT = re.compile(r"<!-- transcript -->\n```.*?\n```\n", re.DOTALL)
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\[[^\]]+\]\(([^)\s]+)\)")
VARIABLE = re.compile(r"\b(?:BLUEFLAME|TEMPORAL|ANTHROPIC|OPENAI|GEMINI|GOOGLE)_[A-Z_]*[A-Z]\b")
OTHERS_OPTIONS = {
    "--address", "--name", "--input", "--type", "--codec-endpoint", "--codec-header",  # temporal
    "--ff-only", "--global", "--depth", "--first-parent", "--tags",  # git
    "--user", "--scope",  # systemd-run
    "--storage",  # prometheus (--storage.tsdb.path)
    "--now", "--system", "--home-dir", "--shell",  # systemctl, useradd
    "--variant", "--include",  # mmdebstrap
    "--as-root",  # pytest, by tests/dropped.py
    "--randomly-seed", "--retry", "--load",  # pytest-randomly, scripts/test, scripts/stress
    "--roles",  # python -m workers
    "--kills", "--seeds", "--repeats", "--turns", "--details", "--plot",
    "--tasks",  # benchmarks
    "--fingerprints-only",  # scripts/record_histories
    "--enable-auto-tool-choice", "--tool-call-parser", "--enable-prompt-tokens-details",  # vllm
    "--wall-clock", "--artifacts",  # scripts/nightly
    "--only", "--packages",  # scripts/strangers, scripts/foreign_clients
    "--allowed",  # claude --allowedTools
    "--coverage",  # scripts/fuzz
    "--no-deps", "--group",  # uv
    "--no-banner", "--log-level", "--redact", "--ignore-gitleaks-allow",  # gitleaks
    "--max-model-len", "--jinja", "--port",  # vllm, llama-server
    "--help", "--version", "--install-completion", "--show-completion",  # of no command
}  # fmt: skip
TEMPORALS_VARIABLES = {
    "TEMPORAL_ADDRESS", "TEMPORAL_NAMESPACE", "TEMPORAL_API_KEY", "TEMPORAL_PROFILE",
    "TEMPORAL_TLS",
}  # fmt: skip


def read(page: Path) -> str:
    return TRANSCRIPT.sub("", page.read_text("utf-8"))


def code_of(page: Path) -> list[str]:
    """Return what stands as code: fenced blocks and spans, transcripts left out."""
    text = read(page)
    blocks = [block for _, block in FENCE.findall(text)]
    return [*blocks, *re.findall(r"`([^`\n]+)`", FENCE.sub("", text))]


def blocks(page: Path, language: str) -> list[str]:
    return [block for kind, block in FENCE.findall(read(page)) if kind == language]


def section(page: Path, title: str) -> str:
    _, _, after = read(page).partition(f"## {title}\n")
    assert after, f"{page.name} has no section {title!r}"
    return re.split(r"^## ", after, maxsplit=1, flags=re.MULTILINE)[0]


def first_column(text: str) -> list[str]:
    return re.findall(r"^\| `([^`]+)`", text, re.MULTILINE)


def commands() -> dict[str, set[str]]:
    group: Any = typer.main.get_command(app)
    return {
        name: {option for each in leaves(command) for param in each.params for option in param.opts}
        for name, command in group.commands.items()
    }


def leaves(command: Any) -> list[Any]:
    """Return the command itself, or those of its group."""
    return list(getattr(command, "commands", {"": command}).values())


def anchor(title: str) -> str:
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def names(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=names)
def test_every_link_leads_somewhere(page: Path):
    lost: list[str] = []
    for link in LINK.findall(read(page)):
        if re.match(r"https?://", link):
            continue
        path, _, part = link.partition("#")
        target = (page.parent / path) if path else page
        titles = re.findall(r"^#+ (.+)$", target.read_text("utf-8"), re.MULTILINE) if part else []
        if not target.exists() or (part and part not in map(anchor, titles)):
            lost.append(link)
    assert lost == []


def test_pictures_ask_the_network_for_nothing():
    pictures = list((DOCS / "images").glob("*.svg"))
    assert pictures
    for each in pictures:
        text = each.read_text("utf-8")
        assert not re.search(r"url\((?!#)|href=|<script|@import", text), each.name


@pytest.mark.parametrize("page", PAGES, ids=names)
def test_every_make_target_exists(page: Path):
    there = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    said = {name for code in code_of(page) for name in re.findall(r"\bmake ([a-z-]+)", code)}
    assert said - there - {"test"} == set()


@pytest.mark.parametrize("page", PAGES, ids=names)
def test_every_command_and_option_exists(page: Path):
    known = commands()
    code = code_of(page)
    said = {name for part in code for name in re.findall(r"blueflame ([a-z]+(?:-[a-z]+)*)", part)}
    assert said - known.keys() == set()
    options = {option for part in code for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", part)}
    ours = {option for of_one in known.values() for option in of_one}
    assert options - ours - OTHERS_OPTIONS == set()


@pytest.mark.parametrize("page", PAGES, ids=names)
def test_every_variable_exists(page: Path):
    known = set(generator()["VARIABLES"]) | TEMPORALS_VARIABLES
    known |= set(VARIABLE.findall((ROOT / "docker-compose.yml").read_text()))
    assert set(VARIABLE.findall(read(page))) - known == set()


@pytest.mark.parametrize("page", PAGES, ids=names)
def test_every_repository_file_that_is_named_exists(page: Path):
    ours = (
        r"(?:activities|benchmarks|docs|examples|scripts|starter|tests|workers|workflows)/[\w./-]*"
    )
    said = {part for part in code_of(page) if re.fullmatch(ours, part)}
    roots = (ROOT, page.parent, ROOT / "tests")
    assert [part for part in said if not any((root / part).exists() for root in roots)] == []


def generator() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "scripts" / "docs.py"))


def test_the_configuration_page_matches_the_models():
    made = generator()["page"]()
    assert (DOCS / "configuration.md").read_text("utf-8") == made, "scripts/docs writes it again"


def test_the_commands_page_matches_the_help():
    made = generator()["commands_page"]()
    assert (DOCS / "commands.md").read_text("utf-8") == made, "scripts/docs writes it again"


def test_the_metrics_page_matches_the_table():
    made = generator()["metrics_page"]()
    assert (DOCS / "metrics.md").read_text("utf-8") == made, "scripts/docs writes it again"


def test_the_events_page_matches_the_table():
    made = generator()["events_page"]()
    assert (DOCS / "events.md").read_text("utf-8") == made, "scripts/docs writes it again"


def test_the_example_configuration_has_every_key_and_the_readme_one_loads():
    example = (ROOT / "blueflame.example.yaml").read_text("utf-8")
    read_file(example, "blueflame.example.yaml", from_repository=True)
    for key in first_column(section(DOCS / "configuration.md", "blueflame.yaml")):
        assert re.search(rf"^[\s#]*{key.rpartition('.')[2]}:", example, re.MULTILINE), key
    (readme,) = blocks(ROOT / "README.md", "yaml")
    assert read_file(readme, "README.md", from_repository=True).value.models is not None


# --- the command line ----------------------------------------------------------------------------


def test_the_command_line_page_lists_every_command_with_its_own_options():
    known = commands()
    said: set[str] = set()
    table = read(DOCS / "cli.md").partition("## Exit codes")[0]
    for left, right in re.findall(r"^\| (`.+?) \| (.+) \|$", table, re.MULTILINE):
        here = re.findall(r"`([a-z]+(?:-[a-z]+)*)", left)
        said |= set(here)
        options = set(re.findall(r"--[a-z-]+", right))
        assert options <= {option for name in here for option in known[name]}, left
    assert said == known.keys()


def test_the_plan_that_is_shown_can_be_read(tmp_path: Path):
    shown, _ = blocks(DOCS / "cli.md", "yaml")
    file = tmp_path / "plan.yaml"
    file.write_text(shown)
    assert [task.id for task in read_plan_file(file).tasks] == ["greeting", "docs"]


def test_the_decisions_file_that_is_shown_can_be_read(tmp_path: Path):
    _, shown = blocks(DOCS / "cli.md", "yaml")
    (tmp_path / "night.yaml").write_text(shown)
    decisions = read_decisions(tmp_path / "night.yaml")
    # Every key of the file is in it.
    assert decisions.model_fields_set == type(decisions).model_fields.keys()


def test_the_exit_codes_are_those_of_the_program():
    codes = re.findall(r"^\| (\d+) \|", section(DOCS / "cli.md", "Exit codes"), re.MULTILINE)
    assert [int(code) for code in codes] == sorted(ExitCode)


def said() -> set[str]:
    """Return the parts of texts that the program can say, as they stand in its code."""
    files = [file for part in PACKAGES for file in (ROOT / part).rglob("*.py")]
    nodes = (node for file in files for node in ast.walk(ast.parse(file.read_text("utf-8"))))
    return {n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)}


def test_every_message_that_is_explained_is_one_of_the_program():
    texts = said()
    told = re.findall(
        r"^\| `([^`]+)`", section(DOCS / "operating.md", "When something is refused"), re.MULTILINE
    )
    assert [words for words in told if not any(words in text for text in texts)] == []
    assert len(told) > 30


def test_the_command_line_page_lists_every_command_of_a_group():
    group: Any = typer.main.get_command(app)
    groups = {
        name: each.commands for name, each in group.commands.items() if hasattr(each, "commands")
    }
    assert "config" in groups
    for name, inner in groups.items():
        said = re.findall(rf"^\| `{name} (\w+)", read(DOCS / "cli.md"), re.MULTILINE)
        assert said == list(inner)


# --- signals ------------------------------------------------------------------------------------


def documented_signals() -> dict[str, str]:
    rows = re.findall(
        r"^\| `(\w+)` \| `(\{.*?\})` \|", section(DOCS / "operating.md", "Signals"), re.MULTILINE
    )
    return dict(rows)


def test_every_signal_is_documented_and_none_other():
    assert tuple(documented_signals()) == decisions.NAMES


@pytest.mark.parametrize("name", decisions.NAMES)
def test_the_documented_input_is_understood(name: str):
    route = ("scripted/author",)
    config = SessionConfig(routes=Routes(planner=route, developer=route, reviewer=route))
    at = datetime(2026, 1, 1, tzinfo=UTC)
    state = SessionState(started_at=at, cap_usd=Decimal(10), phase=SessionPhase.AWAITING_PLAN)
    applied = decisions.apply(
        state,
        config,
        decisions.Sent(name=name, payload=json.loads(documented_signals()[name])),
        at,
    )
    kinds = {notice.kind for notice in applied.state.notices}
    # There are no tasks yet: that is another matter than an input that is not understood.
    assert kinds <= {NoticeKind.UNKNOWN_SUBJECT, NoticeKind.NOT_POSSIBLE}
    if name in {"reject_plan", "replace_plan", "set_budget"}:
        assert applied.state != state
        assert kinds == set()


def test_signals_by_temporal_are_real_ones():
    said = re.findall(r"--name (\w+)", read(DOCS / "operating.md"))
    assert set(said) <= set(decisions.NAMES)
    assert said


# --- the glossary -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("title", "states"),
    [
        ("States of a task", TaskState),
        ("States of a changeset", ChangesetState),
        ("Phases of a session", SessionPhase),
        ("Ends of an agent", AgentEnd),
    ],
)
def test_the_glossary_has_the_states_of_the_code(title: str, states: type[StrEnum]):
    assert first_column(section(DOCS / "glossary.md", title)) == [str(state) for state in states]


def test_the_words_of_the_glossary_are_in_order():
    table = read(DOCS / "glossary.md").partition("## ")[0]
    words = re.findall(r"^\| (\w+) \|", table, re.MULTILINE)[1:]
    assert words == sorted(words)


def test_the_picture_of_a_task_uses_its_states():
    (picture,) = [b for b in blocks(DOCS / "concepts.md", "mermaid") if "stateDiagram" in b]
    moves = re.findall(r"^ {4}(\w+) --> (\w+)", picture, re.MULTILINE)
    assert {state for move in moves for state in move} <= set(TaskState)
    assert len(moves) > 10


def test_a_merge_wave_takes_as_many_changesets_as_is_said():
    assert f"It takes up to {MERGED_TOGETHER} approved changesets." in read(DOCS / "concepts.md")


# --- playbooks ----------------------------------------------------------------------------------


def documented_playbook() -> Playbook:
    (text,) = blocks(DOCS / "playbooks.md", "yaml")
    return parse_playbook(text, "docs/playbooks.md")


def test_the_shown_playbook_is_the_shipped_one():
    (text,) = blocks(DOCS / "playbooks.md", "yaml")
    assert (ROOT / "examples" / "greeting" / "playbook.yaml").read_text("utf-8") == text


def test_the_playbook_in_the_documents_parses_and_its_parts_fit():
    turns = {scene.role: scene.turns for scene in documented_playbook().scenes}
    plan = read_plan(turns[Role.PLANNER][-1].calls[0].arguments)
    assert isinstance(plan, Plan), plan
    assert plan_faults(plan) == ()
    verdict = turns[Role.REVIEWER][0].calls[0].arguments
    assert isinstance(verdict, dict)
    evidence: Any = verdict["evidence"]
    assert [each["criterion"] for each in evidence] == list(plan.tasks[0].acceptance_criteria)
    written: Any = turns[Role.DEVELOPER][0].calls[0].arguments
    assert evidence[0]["quote"] in written["content"]
    assert written["path"] in plan.tasks[0].claims


def spelled(model: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()]


def test_the_keys_of_a_playbook_are_those_of_the_code():
    text = section(DOCS / "playbooks.md", "Keys")
    top, rest = text.split("A scene:")
    scene, turn = rest.split("A turn,")
    assert set(first_column(top)) == set(spelled(Playbook))
    assert first_column(scene) == spelled(Scene)
    assert set(first_column(turn)) == set(spelled(ScriptedTurn))
    inner: Iterable[str] = (*spelled(Usage), *spelled(Prices), *spelled(ScriptedError))
    assert [word for word in inner if f"`{word}`" not in text] == []
    assert [
        word for word in (*get_args(ErrorKind), *get_args(Stop)) if f"`{word}`" not in text
    ] == []


def test_the_tools_of_a_playbook_have_the_arguments_of_the_code():
    text = section(DOCS / "playbooks.md", "Tools")
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", text, re.MULTILINE))
    assert set(rows) == {tool.name for role in Role for tool in tools_for(role, patches=True)}
    for name, row in rows.items():
        parameters = schema(name).parameters
        said = set(re.findall(r"`(\w+)`", row))
        optional = {word for part in re.findall(r"\[(.*?)\]", row) for word in words(part)}
        assert said == set(arguments(parameters)), name
        top: Any = parameters
        assert set(top["required"]) == said & set(top["properties"]) - optional, name


def words(text: str) -> list[str]:
    return re.findall(r"`(\w+)`", text)


def arguments(shape: Any) -> list[str]:
    """Name the arguments that a schema has, those of its lists' items too."""
    own = shape.get("properties", {})
    inner = [each["items"] for each in own.values() if "items" in each]
    return [*own, *(name for items in inner for name in arguments(items))]
