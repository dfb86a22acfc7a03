"""A machine that lacks something: one message, the documented code, nothing left behind."""

import asyncio
import contextlib
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Mapping
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import MappingProxyType

import pytest

from activities.adapters.models.scripted.playbook import parse_playbook
from activities.adapters.models.simulator.simulator_server import Simulator
from starter.console.exit_codes import ExitCode
from tests.badinput import odd_repositories as odd
from tests.badinput.command import Command
from tests.badinput.small_disk import on_small_disk
from tests.e2e.processes import ROOT, ended
from tests.servers import ServerAddress
from tests.waiting import text_of, until_blocking

USAGE, UNAVAILABLE = ExitCode.USAGE, ExitCode.UNAVAILABLE
needs_bubblewrap = pytest.mark.sandbox


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return odd.plain(tmp_path)


def refused(command: Command, told: tuple[int, str, str], code: ExitCode, *words: str) -> None:
    """Check that one message was said, with these words, and that nothing stays."""
    assert (told[0], told[1]) == (code, "")
    assert told[2].startswith("error: ")
    assert told[2].count("\n") == 1, told[2]
    assert [each for each in words if each not in told[2]] == [], told[2]
    assert command.left_behind() == []


# --- what is set ----------------------------------------------------------------------------------

VARIABLES: dict[str, tuple[dict[str, str], ExitCode, str, str]] = {
    "a port that is none": (
        {"BLUEFLAME_TEMPORAL_PORT": "abc"},
        USAGE,
        "BLUEFLAME_TEMPORAL_PORT is 'abc'",
        "unset it",
    ),
    "a port beyond the last": (
        {"BLUEFLAME_UI_PORT": "65536"},
        USAGE,
        "BLUEFLAME_UI_PORT is '65536'",
        "unset it",
    ),
    "root as the host's user": (
        {"BLUEFLAME_HOST_UID": "0"},
        USAGE,
        "BLUEFLAME_HOST_UID is '0'",
        "unset it",
    ),
    "a host's name with a slash": (
        {"BLUEFLAME_HOST_NAME": "a/b"},
        USAGE,
        "BLUEFLAME_HOST_NAME is 'a/b'",
        "unset it",
    ),
    "a sandbox that is none": (
        {"BLUEFLAME_SANDBOX": "off"},
        USAGE,
        "BLUEFLAME_SANDBOX is 'off'",
        "'required' or 'none'",
    ),
    "no server at the address": (
        {"TEMPORAL_ADDRESS": "127.0.0.1:1"},
        UNAVAILABLE,
        "'127.0.0.1:1' does not answer (Connection refused)",
        "check TEMPORAL_ADDRESS",
    ),
    "an address that is none": (
        {"TEMPORAL_ADDRESS": "not an address"},
        UNAVAILABLE,
        "'not an address' does not answer (invalid target URL",
        "check TEMPORAL_ADDRESS",
    ),
    "an address with a port that is none": (
        {"TEMPORAL_ADDRESS": "127.0.0.1:99999"},
        UNAVAILABLE,
        "invalid port number",
        "check TEMPORAL_ADDRESS",
    ),
    "a profile that does not exist": (
        {"TEMPORAL_PROFILE": "nope"},
        UNAVAILABLE,
        "profile 'nope'",
        "`temporal config list`",
    ),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", VARIABLES)
def test_a_variable_is_named(command: Command, repository: Path, case: str):
    variables, code, what, remedy = VARIABLES[case]
    options = ("--config", str(command.config), "--repo", str(repository))
    refused(command, command.types("ls", more=variables), code, what, remedy)
    refused(command, command.types("run", "x", *options, more=variables), code, what, remedy)


@pytest.mark.parametrize(
    "arguments", [("run", "x"), ("run", "x", "--detach"), ("up",)], ids=" ".join
)
def test_a_cgroup_that_is_none(command: Command, repository: Path, arguments: tuple[str, ...]):
    options = ("--config", str(command.config), "--repo", str(repository))
    more = {"BLUEFLAME_CGROUP": "/nope"}
    told = command.types(*arguments, *(options if arguments[0] == "run" else ()), more=more)
    refused(command, told, USAGE, "BLUEFLAME_CGROUP='/nope' is not a cgroup", "unset it")


def test_no_server_was_started_yet(command: Command):
    refused(
        command, command.types("ls"), UNAVAILABLE, "no Temporal server", "`blueflame up --detach`"
    )


def test_no_key_and_no_configuration(command: Command, repository: Path):
    code, out, errors = command.types("run", "x", "--repo", str(repository))
    assert (code, out) == (USAGE, "")
    assert errors.startswith("error: no model is configured for planner, developer, reviewer.")
    assert "1. set a provider's key" in errors
    assert command.left_behind() == []


# --- what is typed --------------------------------------------------------------------------------

TYPED: dict[str, tuple[tuple[str, ...], str, str]] = {
    "an empty goal": (("run", ""), "the goal is empty", "say what you want"),
    "a blank goal": (("run", " \n "), "the goal is empty", "say what you want"),
    "a goal in another encoding": (("run", "caf\udce9"), "not UTF-8", "a terminal that"),
    "a goal of a book": (("run", "x" * 50_001, "--repo", "{repo}"), "goal: ", "at most 50000"),
    "a playbook that is not there": (
        ("run", "x", "--playbook", "{top}/no.yaml"),
        "/no.yaml' is not a file",
        "--playbook names",
    ),
    "a playbook that is a folder": (
        ("run", "x", "--playbook", "{top}"),
        "' is not a file",
        "--playbook names",
    ),
    "a playbook that is not YAML": (
        ("run", "x", "--playbook", "{top}/half.yaml"),
        "half.yaml:1:",
        "found '<stream end>'",
    ),
    "a playbook that is not a text": (
        ("run", "x", "--playbook", "{top}/bytes.yaml"),
        "bytes.yaml",
        "not UTF-8; save the file as UTF-8",
    ),
    "a configuration that is not there": (
        ("run", "x", "--repo", "{repo}", "--config", "{top}/no.yaml"),
        "/no.yaml' cannot be read",
        "No such file",
    ),
    "a simulator without its playbook": (
        ("simulate", "{top}/no.yaml"),
        "no.yaml' is not a file",
        "",
    ),
    "a recording over a file": (
        ("simulate", "--record", "{top}/half.yaml"),
        "half.yaml' exists already",
        "--force overwrites it",
    ),
    "a recording over a folder": (("simulate", "--record", "{top}"), "' is a folder", "a file in"),
    "a recording in no folder": (
        ("simulate", "--record", "{top}/no/new.yaml"),
        "new.yaml' cannot be written",
        "its folder must exist",
    ),
    "a recording of an address that is none": (
        ("simulate", "--record", "{top}/new.yaml", "--to", "openai=localhost"),
        "--to 'openai' has no valid address",
        "write --to NAME=https://host/path",
    ),
    "a recording of a name that is none": (
        ("simulate", "--record", "{top}/new.yaml", "--to", "https://h/"),
        "--to 'https://h/' has no valid address",
        "write --to NAME=https://host/path",
    ),
    "a recording of itself": (
        ("simulate", "--record", "{top}/new.yaml", "--to", "openai=http://localhost:8765/v1"),
        "'openai' points to the recorder itself",
        "unset OPENAI_BASE_URL here, or give its real address with --to openai=URL",
    ),
    "a simulator with options of a recording": (
        ("simulate", "{top}/half.yaml", "--force"),
        "--to and --force need --record",
        "",
    ),
}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("case", TYPED)
def test_an_argument_is_named(command: Command, repository: Path, tmp_path: Path, case: str):
    (tmp_path / "half.yaml").write_text("nonsense: [")
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe")
    arguments, what, remedy = TYPED[case]
    places = {"{top}": str(tmp_path), "{repo}": str(repository)}
    typed = [places.get(a, a.replace("{top}", str(tmp_path))) for a in arguments]
    if typed[0] == "run" and "--config" not in typed:
        typed += ["--config", str(command.config)]
    refused(command, command.types(*typed), USAGE, what, remedy)


# --- the data directory ---------------------------------------------------------------------------


def _a_file(top: Path) -> Path:
    (top / "file").write_text("x")
    return top / "file"


def _below_a_file(top: Path) -> Path:
    return _a_file(top) / "data"


def _below_a_closed_folder(top: Path) -> Path:
    (top / "closed").mkdir(mode=0)
    return top / "closed/data"


def _a_link_to_a_file(top: Path) -> Path:
    (top / "link").symlink_to(_a_file(top))
    return top / "link"


def _below_a_read_only_folder(top: Path) -> Path:
    (top / "closed").mkdir(mode=0o555)
    return top / "closed/data"


def _read_only(top: Path) -> Path:
    (top / "closed").mkdir(mode=0o555)
    return top / "closed"


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (_a_file, "/file' is not a folder"),
        (_below_a_file, "/file' is not a folder"),
        (_a_link_to_a_file, "/link' is not a folder"),
        (_below_a_closed_folder, "cannot be accessed (Permission denied)"),
        (_below_a_read_only_folder, "cannot be written (Permission denied: "),
        (_read_only, "cannot be written (Permission denied: "),
    ],
)
def test_a_data_directory_that_cannot_be_used(
    command: Command, repository: Path, tmp_path: Path, make: Callable[[Path], Path], what: str
):
    if os.geteuid() == 0 and "denied" in what:
        pytest.skip("root may write everywhere")
    more = {"BLUEFLAME_DATA_DIR": str(make(tmp_path))}
    options = ("--config", str(command.config), "--repo", str(repository))
    told = command.types("run", "x", *options, more=more)
    refused(command, told, USAGE, "data directory '", what, "BLUEFLAME_DATA_DIR names another")
    if (tmp_path / "closed").exists():
        (tmp_path / "closed").chmod(0o700)
        assert list((tmp_path / "closed").iterdir()) == []


_NOTHING: Mapping[str, str] = MappingProxyType({})


def _outside(
    command: Command,
    *argv: str,
    cwd: Path = ROOT,
    more: Mapping[str, str] = _NOTHING,
) -> "subprocess.CompletedProcess[str]":
    """Run a command line in a process of its own."""
    return ended(argv, _variables(command, **more), cwd)


def _variables(command: Command, **more: str) -> dict[str, str]:
    return {name: text for name, text in command.variables(**more).items() if text != "unset"}


STARTER = (sys.executable, "-m", "starter")


@needs_bubblewrap
@pytest.mark.slow
def test_a_full_disk(command: Command, repository: Path, tmp_path: Path):
    disk = tmp_path / "disk"
    disk.mkdir()
    small = ("bwrap", "--dev-bind", "/", "/", "--size", "65536", "--tmpfs", str(disk))
    options = ("--config", str(command.config), "--repo", str(repository))
    data = {"BLUEFLAME_DATA_DIR": str(disk / "data")}
    run = _outside(command, *small, *STARTER, "run", "x", *options, more=data)
    told = (run.returncode, run.stdout, run.stderr)
    refused(command, told, USAGE, "is on a disk with 0 MB free", "free some")


ASKING = """
version: 1
models: {planner: [openai/gpt-5], developer: [openai/gpt-5], reviewer: [scripted/b]}
"""
UNANSWERED = """
schema: 1
name: unanswered
latency_s: 3600
scenes: [{role: planner, turns: [{text: Never said.}]}]
"""


@needs_bubblewrap
@pytest.mark.slow
async def test_a_disk_that_fills_while_a_session_runs(
    command: Command, repository: Path, tmp_path: Path
):
    disk = tmp_path / "disk"
    disk.mkdir()
    command.config.write_text(ASKING)
    options = ("--wait", "--config", str(command.config), "--repo", str(repository))
    async with Simulator(parse_playbook(UNANSWERED, "unanswered.yaml")) as simulator:
        variables = _variables(
            command,
            BLUEFLAME_DATA_DIR=str(disk / "data"),
            OPENAI_API_KEY="simulated",
            OPENAI_BASE_URL=simulator.base_urls["openai"],
        )

        def is_asked() -> bool:
            return bool(simulator.log.entries)

        def filled() -> tuple[int, str]:
            size = 300 << 20  # as much as a host wants for a session
            run = (*STARTER, "run", "x", *options)
            with on_small_disk(disk, size, run, variables) as running:
                # The host has seen that it has room, and the session stands still from here on.
                what = "the planner asks its model"
                until_blocking(is_asked, what, seen=lambda: text_of(disk.with_suffix(".err")))
                running.fill()
                running.shown.until("the disk is full")
                running.kill_server()
                log = running.logs / "supervisor.log"
                what = "the client library notes its retries"
                until_blocking(lambda: "gRPC call" in text_of(log), what, seen=lambda: text_of(log))
                running.make_room()
                return running.end(), running.shown.text

        code, out = await asyncio.to_thread(filled)
    assert code == ExitCode.INTERRUPTED, out
    said = [line for line in out.splitlines() if "the disk is full" in line]
    assert len(said) == 1
    assert f"MB are free for the data directory '{disk / 'data'}'" in said[0]
    assert "free some" in said[0]
    # What libraries note of their own retries stays in their logs.
    out += disk.with_suffix(".err").read_text()
    assert [each for each in ("WARN", "gRPC", "Traceback", "Logging error") if each in out] == []


@needs_bubblewrap
def test_an_account_without_a_home(command: Command):
    nobody = ("bwrap", "--dev-bind", "/", "/", "--ro-bind", os.devnull, "/etc/passwd")
    gone = {"HOME": "unset", "BLUEFLAME_DATA_DIR": "unset"}
    run = _outside(command, *nobody, *STARTER, "ls", more=gone)
    told = (run.returncode, run.stdout, run.stderr)
    refused(command, told, USAGE, "no home directory", "set HOME, or BLUEFLAME_DATA_DIR")


# --- programs -------------------------------------------------------------------------------------


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A PATH with a git and nothing else."""
    folder = tmp_path / "programs"
    folder.mkdir()
    (folder / "git").symlink_to(shutil.which("git") or "git")
    return folder


def _script(folder: Path, text: str) -> None:
    (folder / "git").unlink()
    (folder / "git").write_text(f"#!/bin/sh\n{text}\n")
    (folder / "git").chmod(0o755)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (None, "the program `git` is not installed"),
        ("echo git version 2.38.9", "git is version 2.38.9"),
        ("echo git version 1.9", "git is version 1.9"),
        ("exit 3", "does not tell its version (exit code 3)"),
        ("echo hub 1.0", "does not tell its version (hub 1.0)"),
    ],
)
def test_git_is_missing_or_old(
    command: Command, repository: Path, programs: Path, text: str | None, what: str
):
    _script(programs, text or "")
    if text is None:
        (programs / "git").unlink()
    options = ("--config", str(command.config), "--repo", str(repository))
    told = command.types("run", "x", *options, more={"PATH": str(programs)})
    refused(command, told, USAGE, what, "2.39 or newer is needed")


def test_bubblewrap_is_missing(command: Command, repository: Path, programs: Path):
    options = ("--config", str(command.config), "--repo", str(repository))
    told = command.types("run", "x", *options, more={"PATH": str(programs)})
    refused(command, told, USAGE, "needs bubblewrap", "`apt install bubblewrap`")


def test_doctor_tells_all_that_is_missing_at_once(command: Command, programs: Path):
    _script(programs, "echo git version 2.30.0")
    code, out, errors = command.types("doctor", more={"PATH": str(programs)})
    assert (code, errors) == (ExitCode.FAILED, "")
    lines = {line.split()[1]: line for line in out.splitlines()}
    assert lines["git"].startswith("MISSING")
    assert lines["sandbox"].startswith("MISSING")
    assert lines["keys"].startswith("MISSING")


@pytest.mark.slow
def test_a_clock_that_is_behind_is_told(command: Command, tmp_path: Path):
    # The program as it would be with its files of tomorrow: the clock then is behind them.
    packages = tmp_path / "packages"
    machine = packages / "starter/machine"
    machine.mkdir(parents=True)
    for name in ("activities", "workers", "workflows"):
        (packages / name).symlink_to(ROOT / name)
    for folder in (packages / "starter", machine):
        for place in (ROOT / folder.relative_to(packages)).iterdir():
            if place.name not in {"machine", "clock.py"}:
                (folder / place.name).symlink_to(place)
    clock = machine / "clock.py"
    shutil.copy(ROOT / "starter/machine/clock.py", clock)
    tomorrow = (datetime.now(UTC) + timedelta(days=1)).timestamp()
    os.utime(clock, (tomorrow, tomorrow))
    code = "import sys; sys.argv[:] = ['x', 'doctor']; from starter.__main__ import main; main()"
    run = _outside(command, sys.executable, "-P", "-c", code, more={"PYTHONPATH": str(packages)})
    (line,) = [line for line in run.stdout.splitlines() if " clock " in line]
    assert run.returncode == ExitCode.FAILED
    assert line.startswith("MISSING")
    assert "behind; set it by NTP" in line


# --- servers --------------------------------------------------------------------------------------


@contextlib.contextmanager
def _something_else() -> Generator[str]:
    """A server that speaks HTTP and no gRPC."""

    class Silent(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (its base's name)
            del format, args

    server = HTTPServer(("127.0.0.1", 0), Silent)
    serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    serving.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        serving.join()
        server.server_close()


def test_something_else_listens_at_the_address(command: Command):
    with _something_else() as address:
        told = command.types("ls", more={"TEMPORAL_ADDRESS": address})
    refused(command, told, UNAVAILABLE, f"{address!r} does not answer", "check TEMPORAL_ADDRESS")


def test_a_namespace_that_does_not_exist(
    command: Command, repository: Path, temporal_server: ServerAddress
):
    more = {"TEMPORAL_ADDRESS": temporal_server.address, "TEMPORAL_NAMESPACE": "nope"}
    options = ("--config", str(command.config), "--repo", str(repository))
    for arguments in (("ls",), ("run", "x", *options)):
        code, out, errors = command.types(*arguments, more=more)
        assert (code, out, errors.count("\n")) == (UNAVAILABLE, "", 1)
        assert "nope" in errors
        assert "`temporal operator namespace create -n NAME`" in errors


@pytest.mark.parametrize("options", [(), ("--record", "--force")])
def test_a_port_that_is_taken(command: Command, tmp_path: Path, options: tuple[str, ...]):
    playbook = tmp_path / "playbook.yaml"
    shutil.copy(ROOT / "examples/demo/playbook.yaml", playbook)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        told = command.types("simulate", str(playbook), "--port", port, *options)
    refused(command, told, USAGE, f"port {port} cannot be served", "use another --port")


# --- the process itself ---------------------------------------------------------------------------


def _closed(command: Command, numbers: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    line = f'exec "$@" {numbers}'
    return _outside(command, "bash", "-c", line, "bash", *STARTER, *arguments)


@pytest.mark.parametrize("numbers", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.slow
def test_closed_streams_change_no_exit_code(command: Command, numbers: str):
    """Field report R58."""
    run = _closed(command, numbers, "ls")
    assert run.returncode == UNAVAILABLE
    assert "Traceback" not in run.stderr
    assert command.left_behind() == []


@pytest.mark.slow
def test_a_dry_run_needs_no_streams(command: Command, repository: Path):
    options = ("--config", str(command.config), "--repo", str(repository), "--dry-run")
    run = _closed(command, "<&- >&-", "run", "x", *options)
    assert (run.returncode, run.stderr) == (ExitCode.COMPLETE, "")


def test_a_directory_that_is_gone(command: Command, tmp_path: Path):
    gone = tmp_path / "gone"
    gone.mkdir()
    line = 'rmdir "$1"; shift; exec "$@"'
    run = _outside(command, "bash", "-c", line, "bash", str(gone), *STARTER, "ls", cwd=gone)
    told = (run.returncode, run.stdout, run.stderr)
    refused(command, told, USAGE, "the current directory does not exist", "`cd` to another")


@pytest.mark.slow
def test_an_ascii_locale_and_folders_that_are_not_there(command: Command, repository: Path):
    """Field report R58."""
    options = ("--config", str(command.config), "--repo", str(repository), "--dry-run")
    odd_one = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    odd_one |= {"HOME": "/nowhere", "TMPDIR": "/nowhere"}
    run = _outside(command, *STARTER, "run", "Größe", *options, more=odd_one)
    assert (run.returncode, run.stderr) == (ExitCode.COMPLETE, "")
    assert "Gr\\xf6\\xdfe" in run.stdout
