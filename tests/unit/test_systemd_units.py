"""The example units of systemd: they parse, and their limits leave the program time to end."""

import re
import shutil
import subprocess
from datetime import timedelta
from pathlib import Path

import pytest
from typer.main import get_command

from starter.cli import app
from starter.console.exit_codes import ExitCode
from workers.roles import Role, parse_roles
from workers.server.restarted_processes import Program
from workers.server.supervisor import GRACE
from workers.settings import Settings

UNITS = Path(__file__).parents[2] / "examples" / "systemd"
INSTALLED = "/opt/blueflame/.venv/bin/"
BOTH = ("blueflame@.service", "blueflame-worker@.service")
MAKES_PROC_PARTIAL = (
    "ProtectKernelTunables", "ProtectKernelLogs", "ProtectHostname", "ProtectProc", "ProcSubset",
)  # fmt: skip
"""The sandbox's own /proc would be refused."""


def settings_of(unit: str) -> dict[str, list[str]]:
    """Return each setting of a unit with its values, in order."""
    found: dict[str, list[str]] = {}
    for line in (UNITS / unit).read_text().splitlines():
        name, is_set, value = line.partition("=")
        if is_set and not line.startswith("#"):
            found.setdefault(name, []).append(value)
    return found


def seconds(text: str) -> float:
    number, unit = re.fullmatch(r"(\d+)(s|min)", text).groups()  # type: ignore[union-attr]
    return int(number) * {"s": 1, "min": 60}[unit]


def test_every_unit_is_in_these_tests() -> None:
    assert {path.name for path in UNITS.glob("*.service")} == set(BOTH)


@pytest.mark.parametrize("unit", BOTH)
def test_systemd_accepts_it(unit: str, tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is not installed: apt-get install systemd")
    # systemd looks whether programs and accounts exist: those of this machine stand in.
    text = (UNITS / unit).read_text().replace(INSTALLED, "/usr/bin/env ")
    text = re.sub(r"^User=.*$", "User=daemon", text, flags=re.MULTILINE)
    one = tmp_path / unit.replace("@", "@models")
    one.write_text(text)
    ran = subprocess.run(
        [program, "verify", "--man=no", "--generators=no", str(one)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout + ran.stderr) == (0, "")


@pytest.mark.parametrize("unit", BOTH)
def test_it_is_told_by_the_program_and_lets_the_sandbox_work(unit: str) -> None:
    found = settings_of(unit)
    assert found["Type"] == ["notify"]
    (command,) = found["ExecStart"]
    assert command.startswith(INSTALLED)
    assert "NotifyAccess" not in found  # by default only the main process is heard
    # A worker looks eight times within its own limit, and systemd must not be more impatient.
    limit = Settings(data_dir=UNITS).liveness_seconds
    assert seconds(found["WatchdogSec"][0]) >= 2 * limit
    assert found.keys().isdisjoint(MAKES_PROC_PARTIAL)
    assert found["NoNewPrivileges"] == ["yes"]


def test_up_gets_the_time_to_end_its_workers_and_its_server() -> None:
    found = settings_of("blueflame@.service")
    assert found["ExecStart"][0].split()[1] in get_command(app).commands  # type: ignore[attr-defined]
    server = Program(name="", argv=(), environment={}, directory=UNITS, log=UNITS).grace
    needed = GRACE + timedelta(seconds=5) + server
    assert seconds(found["TimeoutStopSec"][0]) > needed.total_seconds()
    assert found["SuccessExitStatus"] == [str(int(ExitCode.INTERRUPTED))]


def test_a_worker_gets_the_time_to_end_its_activities() -> None:
    found = settings_of("blueflame-worker@.service")
    assert found["ExecStart"][0].endswith("python -P -m workers --roles %i")
    assert parse_roles("models") == (Role.MODELS,)
    assert seconds(found["TimeoutStopSec"][0]) > 2 * GRACE.total_seconds()


def test_only_the_file_of_a_role_holds_its_secrets() -> None:
    files = settings_of("blueflame-worker@.service")["EnvironmentFile"]
    assert files == ["/etc/blueflame/worker.env", "-/etc/blueflame/%i.env"]
    readme = (UNITS / "README.md").read_text()
    assert "install -m 0600 /dev/null /etc/blueflame/models.env" in readme


def test_the_readme_installs_what_there_is() -> None:
    readme = (UNITS / "README.md").read_text()
    named = set(re.findall(r"examples/systemd/(\S+\.service)", readme))
    assert named == set(BOTH)
