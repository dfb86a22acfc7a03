"""gitleaks as a gate: its report as lines, its findings against the base, and its failure.

The report below is one of gitleaks 8.30.1, shortened. The last tests ask the real program, where it
is on PATH.
"""

import json
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.adapters.blob_store import MemoryStore
from activities.adapters.sandbox.blueflame_programs import worker_prefixes
from activities.adapters.sandbox.bubblewrap import BubblewrapSandbox
from activities.gates.detection import detect_gates, files_to_read
from activities.gates.execution import Checkout, GateRunner
from activities.gates.gitleaks import COMMAND, in_lines, redaction_fault
from activities.ports.sandbox_port import Limits, Workspace
from tests.unit.activities.adapters.git.home import Home
from tests.unit.activities.gates.test_execution import ScriptedSandbox, exited
from tests.unit.activities.situations import Situation, bash
from workflows.domain.agent.tool_policy import ToolPolicy
from workflows.domain.gate import GateReport, GateResult, GateSpec
from workflows.domain.ids import Tree
from workflows.policy.commands.protection import gate_files, write_denial
from workflows.policy.gates.gate_comparison import judge_gates

GATE = GateSpec(name="gitleaks", argv=COMMAND)
# Joined here, so that this file itself holds none.
TOKEN = "ghp_" + "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"
REPORT = """\
[
 {
  "RuleID": "github-pat",
  "Description": "Uncovered a GitHub Personal Access Token, potentially leading to unauthorized \
repository access and sensitive content exposure.",
  "StartLine": 2,
  "EndLine": 2,
  "StartColumn": 11,
  "EndColumn": 50,
  "Match": "REDACTED",
  "Secret": "REDACTED",
  "File": "src/a.py",
  "SymlinkFile": "",
  "Commit": "",
  "Entropy": 4.8341837,
  "Author": "",
  "Email": "",
  "Date": "",
  "Message": "",
  "Tags": [],
  "Fingerprint": "src/a.py:github-pat:2"
 }
]
"""


def reported(*leaks: tuple[str, int, str], **more: Any) -> bytes:
    """A report with these findings: path, line, rule."""
    (one,) = json.loads(REPORT)
    return json.dumps(
        [{**one, "File": path, "StartLine": line, "RuleID": rule} for path, line, rule in leaks]
        if not more
        else [{**one, **more}],
        indent=1,
    ).encode()


async def judged(code: int, output: bytes) -> GateResult:
    runner = GateRunner(ScriptedSandbox(exited(code, output)), MemoryStore())

    async def restore() -> tuple[str, ...]:
        return ()

    (result,) = await runner.run((GATE,), Checkout(Workspace(path=Path("/x")), restore), Limits())
    return result


async def test_a_finding_has_path_line_and_rule():
    result = await judged(1, REPORT.encode())
    assert (result.result, result.failures) == ("failed", ("src/a.py github-pat",))
    assert result.excerpt.startswith("src/a.py:2:11: github-pat: Uncovered a GitHub Personal")
    assert "REDACTED" not in result.excerpt


async def test_a_secret_that_was_not_redacted_is_not_kept():
    hidden = reported(Secret="hunter2-hunter2", Match="password=hunter2-hunter2")
    assert b"hunter2" in hidden
    runner = GateRunner(ScriptedSandbox(exited(1, hidden)), store := MemoryStore())

    async def restore() -> tuple[str, ...]:
        return ()

    (result,) = await runner.run((GATE,), Checkout(Workspace(path=Path("/x")), restore), Limits())
    assert result.output is not None
    assert b"hunter2" not in await store.get(result.output)
    assert "hunter2" not in result.model_dump_json()


async def test_without_a_finding_it_passes():
    result = await judged(0, b"[]\n")
    assert (result.result, result.failures, result.excerpt) == ("passed", (), "")


async def test_only_what_is_new_counts():
    base = await judged(1, reported(("a.py", 2, "github-pat"), ("a.py", 9, "github-pat")))
    same = await judged(1, reported(("a.py", 5, "github-pat"), ("a.py", 12, "github-pat")))
    more = await judged(
        1, reported(*(("a.py", n, "github-pat") for n in (2, 9, 30)), ("b.py", 1, "private-key"))
    )
    reports = [GateReport(tree=Tree(""), results=(each,)) for each in (base, same, more)]
    assert judge_gates(reports[0], reports[1]).passes
    decision = judge_gates(reports[0], reports[2])
    assert decision.new_failures == ("gitleaks: a.py github-pat #3", "gitleaks: b.py private-key")
    assert not decision.passes


@pytest.mark.parametrize(
    ("code", "output", "said"),
    [
        (1, b"FTL unable to load gitleaks config", "(FTL unable to load gitleaks config)"),
        (1, b'Error: unknown command "dir" for "gitleaks"', '(Error: unknown command "dir"'),
        (1, b"", "(exit code 1)"),
        (1, REPORT.encode()[:200], "reported no finding and failed"),
        (127, b"sh: 1: exec: gitleaks: not found", "'gitleaks' cannot be run in the sandbox"),
    ],
)
async def test_a_gitleaks_that_could_not_scan_is_not_a_finding(code: int, output: bytes, said: str):
    result = await judged(code, output)
    assert (result.result, result.failures) == ("judged_nothing", ())
    assert said in result.reason


def test_text_outside_the_report_stays():
    output = b"ERR [x] cannot read\n[y\n" + reported(("a b.py", 3, "r")) + b"\nleaks found: 1\n"
    lines = in_lines(COMMAND, output).decode().splitlines()
    assert lines[:2] == ["ERR [x] cannot read", "[y"]
    assert lines[2].startswith("a b.py:3:11: r: ")
    assert lines[3:] == ["leaks found: 1"]


def test_a_name_cannot_forge_a_line():
    lines = in_lines(COMMAND, reported(("a\nb.py:1:1: r: x", 3, "r\x1b[31m"))).decode()
    assert len(lines.splitlines()) == 1
    assert "\\u000a" in lines
    assert "\x1b" not in lines


@pytest.mark.parametrize("argv", [("pytest",), ("bash", "-c", "gitleaks dir")])
def test_the_output_of_another_command_is_left_alone(argv: tuple[str, ...]):
    assert in_lines(argv, REPORT.encode()) == REPORT.encode()


@given(st.binary() | st.text(alphabet='[]{}":,\nRuleIDFiSt1', max_size=80).map(str.encode))
def test_no_output_raises(output: bytes):
    in_lines(COMMAND, output)


def test_deep_nesting_does_not_raise():
    output = b"[" * 100_000
    assert in_lines(COMMAND, output) == output


@pytest.mark.parametrize(
    ("argv", "shows"),
    [
        (COMMAND, False),
        (("gitleaks", "dir", "--redact=100"), False),
        (("pytest",), False),
        (("gitleaks", "dir"), True),
        (("/usr/bin/gitleaks", "dir", "--redact=20"), True),
    ],
)
def test_a_command_that_would_show_secrets_is_refused(argv: tuple[str, ...], shows: bool):
    assert (redaction_fault(argv) is not None) == shows


# ------------------------------------------------------------------------------------ detection

_HOOK = b"repos:\n- repo: https://github.com/gitleaks/gitleaks\n  hooks:\n    - id: gitleaks\n"


@pytest.mark.parametrize(
    "files",
    [
        {".gitleaks.toml": b""},
        {".gitleaksignore": b""},
        {".pre-commit-config.yaml": _HOOK},
        {".pre-commit-config.yaml": _HOOK.replace(b"id: gitleaks", b'id: "gitleaks-docker"')},
    ],
)
def test_it_is_detected_where_the_repository_uses_it(files: dict[str, bytes]):
    read = files_to_read(files)
    assert [path for path in files if files[path]] == list(read)
    assert [gate.argv for gate in detect_gates(files)] == [COMMAND]
    names = [gate.name for gate in detect_gates({**files, "Makefile": b"test:\n"})]
    assert names == ["gitleaks", "make-test"]


@pytest.mark.parametrize(
    "files",
    [
        {"docs/.gitleaks.toml": b""},
        {".pre-commit-config.yaml": b"# - id: gitleaks\n- id: ruff\n  args: [gitleaks, pytest]\n"},
    ],
)
def test_it_is_not_invented(files: dict[str, bytes]):
    assert detect_gates({**files, "tests/test_a.py": b""})[:1] != [GATE]
    assert "gitleaks" not in [gate.name for gate in detect_gates(files)]


@pytest.mark.parametrize(
    ("argv", "path"),
    [
        (COMMAND, ".gitleaks.toml"),
        (COMMAND, ".gitleaksignore"),
        (("gitleaks", "dir", "-c", "conf/leaks.toml"), "conf/leaks.toml"),
        (("gitleaks", "dir", "--config=./conf/leaks.toml"), "conf/leaks.toml"),
        (("gitleaks", "dir", "--baseline-path", "known.json"), "known.json"),
    ],
)
def test_an_agent_cannot_excuse_its_own_secret(argv: tuple[str, ...], path: str):
    found = gate_files((GateSpec(name="gitleaks", argv=argv),))
    denied = write_denial(path, ("**",), ToolPolicy(), found)
    assert denied is not None
    assert denied.rule == "named-only"
    assert write_denial(path, ("**", path), ToolPolicy(), found) is None


# ------------------------------------------------------------------------------ the real program

_PROGRAM = shutil.which("gitleaks")
real = pytest.mark.skipif(_PROGRAM is None, reason="gitleaks is not on PATH (CONTRIBUTING.md)")


def _sandbox() -> BubblewrapSandbox:
    assert _PROGRAM is not None
    return BubblewrapSandbox((Path(_PROGRAM).resolve().parent.parent, *worker_prefixes()))


def _make(home: Home) -> None:
    home.make({"README.md": "x\n", "old.py": f"token = '{TOKEN}'\n"})


@real
@pytest.mark.sandbox
async def test_the_real_program_finds_what_an_agent_adds_and_not_what_was_there(tmp_path: Path):
    situation = Situation(tmp_path, _sandbox())
    (agent,) = await situation.begin(_make, "a")
    other = TOKEN[:-3] + "zzz"
    text = f"# gitleaks:allow\nx = '{other}' # gitleaks:allow\n"
    await agent.turn(("write", {"path": "new.py", "content": text}), bash("sed -i '1i # a' old.py"))
    base = await situation.report(situation.home.base, *COMMAND)
    assert base.results[0].failures == ("old.py github-pat",)
    runner = GateRunner(_sandbox(), MemoryStore())

    async def restore() -> tuple[str, ...]:
        return ()

    checkout = Checkout(Workspace(path=agent.path), restore)
    gate = GateSpec(name="check", argv=COMMAND, timeout=timedelta(minutes=5))
    results = await runner.run((gate,), checkout, Limits())
    assert results[0].failures == ("new.py github-pat", "old.py github-pat")
    assert "new.py:2:7: github-pat: " in results[0].excerpt
    assert other not in results[0].model_dump_json()
    decision = judge_gates(base, GateReport(tree=Tree(""), results=results))
    assert decision.new_failures == ("check: new.py github-pat",)


@real
@pytest.mark.sandbox
async def test_the_real_program_with_a_broken_configuration_did_not_look(tmp_path: Path):
    situation = Situation(tmp_path, _sandbox())
    await situation.begin(lambda home: home.make({".gitleaks.toml": "[[\n"}))
    (result,) = (await situation.report(situation.home.base, *COMMAND)).results
    assert result.result == "judged_nothing"
    assert "unable to load gitleaks config" in result.reason
