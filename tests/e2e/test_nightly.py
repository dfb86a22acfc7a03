"""`scripts/nightly` with the bundled server and a scripted model, as CI and cron run it."""

import contextlib
import json
import os
import pwd
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Generator
from pathlib import Path

import pytest

from starter.console.exit_codes import ExitCode
from tests.e2e.processes import ROOT, blueflame, ended, environment, kill, repository, until
from tests.waiting import LONG_PATIENCE, PATIENCE, shell_until, text_of
from workers.server.supervisor import read_state
from workers.settings import Settings

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(600)]

GREETING = ROOT / "examples" / "greeting" / "playbook.yaml"
GATES = """
version: 1
gates:
  there: {run: test -e README}
"""


def waiting_playbook(folder: Path, seconds: int) -> Path:
    """Return a playbook whose developer waits for at least so long, before it does its work."""
    made, write, text = folder / "waits.yaml", "          - write:", GREETING.read_text()
    assert write in text
    command = json.dumps(f"({shell_until('never', seconds=seconds)}) || true")
    made.write_text(text.replace(write, f"          - bash: {{command: {command}}}\n{write}"))
    return made


class Nights:
    """One clone, one repository and one data directory, over several nights."""

    def __init__(self, folder: Path, clone: Path = ROOT, user: pwd.struct_passwd | None = None):
        self.settings = Settings(data_dir=folder / "data", temporal_port=0, ui_port=0)
        self.repo = repository(folder / "repo", {"README": "x\n", "blueflame.yaml": GATES})
        self.artifacts = folder / "artifacts"
        self.clone = clone
        self.variables = environment(self.settings, XDG_CONFIG_HOME=str(folder / "config"))
        self.become: tuple[str, ...] = ()
        """What a command begins with, so that it runs as the nights do."""
        if clone is not ROOT:
            # What `scripts/setup` needs of the machine to install packages.
            tools = ("PIP_", "SSL_", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
            own = {name: value for name, value in os.environ.items() if name.startswith(tools)}
            # Compiled are only the modules that the nights load, when they load them.
            own["PIP_NO_COMPILE"] = "1"
            self.variables |= {**own, "HOME": str(folder), "PYTHONPATH": ""}
        if user is not None:
            ids = (f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups")
            self.become = ("setpriv", *ids, "--")
            subprocess.run(["chown", "-R", user.pw_name, str(folder)], check=True)

    def command(self, *options: str, playbook: Path = GREETING) -> tuple[str, ...]:
        """Return the command of a night."""
        places = ("--repo", str(self.repo), "--artifacts", str(self.artifacts))
        script = str(self.clone / "scripts" / "nightly")
        night = (script, "Greet the world", *places, "--playbook", str(playbook), *options)
        return (*self.become, *night)

    def run(self, *command: str, cwd: Path | None = None) -> None:
        """Run a program as the nights do."""
        whole = (*self.become, *command)
        subprocess.run(whole, cwd=cwd or self.repo, env=self.variables, check=True)

    def night(self, *options: str, playbook: Path = GREETING) -> "subprocess.CompletedProcess[str]":
        """Run a whole night."""
        night = self.command(*options, playbook=playbook)
        return ended(night, self.variables, patience=LONG_PATIENCE)

    def status(self) -> dict[str, object]:
        """Return the session's status, as the night left it."""
        return json.loads((self.artifacts / "status.json").read_text())


@pytest.fixture
def nights(tmp_path: Path) -> Generator[Nights]:
    made = Nights(tmp_path)
    yield made
    blueflame(made.settings, "up", "--stop")


def check_two_nights_with_a_kill(nights: Nights, log: Path) -> None:
    """Kill the first night with its server; the second continues it.

    The work of a night can be taken from its artifacts alone.
    """
    # So that the session does not end before the second night looks for it.
    waits = waiting_playbook(log.parent, seconds=20)
    with log.open("wb") as out:
        first = subprocess.Popen(
            nights.command(playbook=waits),
            env=nights.variables,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        until(
            lambda: "started session" in text_of(log),
            "a session",
            LONG_PATIENCE,
            seen=lambda: text_of(log),
        )
        supervisor = read_state(nights.settings)
        kill(first.pid)
        first.wait()
    assert supervisor is not None
    kill(supervisor.pid)
    session = text_of(log).partition("started session ")[2].split()[0]

    second = nights.night(playbook=waits)
    assert second.returncode == ExitCode.COMPLETE, second.stdout + second.stderr
    assert f"continues session {session}" in second.stdout
    assert "nightly: exit code 0" in second.stdout
    assert read_state(nights.settings) is None, "it ends the server that it started"
    check_artifacts(nights, session)


def check_artifacts(nights: Nights, session: str) -> None:
    """Take the night's commits into a fresh clone, by its bundle and by its patch."""
    status, found = nights.status(), nights.artifacts
    assert (status["session"], status["outcome"]) == (session, "complete")
    assert "Greet the world" in (found / "report.html").read_text()
    assert "greeting.txt" in (found / "session.log").read_text()
    assert session in (found / "watch.log").read_text()
    for way in (("pull", "-q", "--ff-only", str(found / "work.bundle"), str(status["branch"])),
                ("-c", "user.name=t", "-c", "user.email=t@example.invalid", "am", "-q",
                 str(found / "work.patch"))):  # fmt: skip
        clone = nights.repo.parent / way[0].replace("-c", "am")
        nights.run("git", "clone", "-q", str(nights.repo), str(clone))
        nights.run("git", *way, cwd=clone)
        assert (clone / "greeting.txt").read_text() == "Hello, world\n"


def test_a_killed_night_is_continued_by_the_next(nights: Nights, tmp_path: Path) -> None:
    check_two_nights_with_a_kill(nights, tmp_path / "first.log")
    before = nights.status()["session"]
    third = nights.night("--budget", "1")
    assert third.returncode == ExitCode.COMPLETE, third.stdout + third.stderr
    assert "started session" in third.stdout
    assert nights.status()["session"] != before


def fresh_clone(folder: Path) -> Path:
    """Clone what is committed here."""
    clone = folder / "blueflame"
    subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
    return clone


@contextlib.contextmanager
def ordinary_user() -> Generator[pwd.struct_passwd]:
    """Make a user with a home, and remove both at the end."""
    name = f"night{uuid.uuid4().hex[:8]}"
    home = Path(tempfile.gettempdir()) / name
    subprocess.run(["useradd", "--create-home", "--home-dir", str(home), name], check=True)
    try:
        yield pwd.getpwnam(name)
    finally:
        subprocess.run(["userdel", "--force", name], check=False, capture_output=True)
        shutil.rmtree(home, ignore_errors=True)


def check_nights_in_a_fresh_clone(folder: Path, user: pwd.struct_passwd | None) -> None:
    """Set a fresh clone up, and run nights there, of which the first is killed."""
    nights = Nights(folder, fresh_clone(folder), user)
    try:
        nights.run(str(nights.clone / "scripts" / "setup"), cwd=nights.clone)
        check_two_nights_with_a_kill(nights, folder / "first.log")
    finally:
        program = str(nights.clone / ".venv" / "bin" / "python")
        nights.run(program, "-P", "-m", "starter", "up", "--stop", cwd=nights.clone)


@pytest.mark.root
@pytest.mark.timeout(2_400)
def test_a_killed_night_of_root_is_continued_by_the_next(tmp_path: Path) -> None:
    check_nights_in_a_fresh_clone(tmp_path, user=None)


@pytest.mark.root
@pytest.mark.timeout(2_400)
def test_a_killed_night_of_an_ordinary_user_is_continued_by_the_next() -> None:
    with ordinary_user() as user:
        check_nights_in_a_fresh_clone(Path(user.pw_dir), user)


def test_a_session_whose_time_is_over_is_stopped_and_reported(
    nights: Nights, tmp_path: Path
) -> None:
    waits = waiting_playbook(tmp_path, seconds=int(PATIENCE))
    night = nights.night("--wall-clock", "1s", "--", "--pacing", "flow", playbook=waits)
    assert night.returncode == ExitCode.STOPPED, night.stdout + night.stderr
    assert nights.status()["outcome"] == "stopped"
    assert (nights.artifacts / "report.html").exists()
    assert not (nights.artifacts / "work.bundle").exists()


def test_a_session_that_is_refused_leaves_no_server_behind(nights: Nights) -> None:
    night = nights.night("--", "--base", "gone")
    assert night.returncode == ExitCode.USAGE
    assert "gone" in night.stderr
    assert read_state(nights.settings) is None
