"""`schedule` with the real workers: what fires is the session that `run` would start."""

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from starter.console.exit_codes import ExitCode
from tests.documented import unshown
from tests.e2e.processes import ROOT, blueflame, repository, until
from workers.settings import Settings

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(600)]

GREETING = str(ROOT / "examples" / "greeting" / "playbook.yaml")
CONFIG = "version: 1\ngates:\n  there: {run: test -e README}\n"


@pytest.fixture
def settings(tmp_path: Path) -> Generator[Settings]:
    made = Settings(data_dir=tmp_path / "data", temporal_port=0, ui_port=0)
    came = blueflame(made, "up", "--detach", "--playbook", GREETING)
    assert came.returncode == 0, came.stderr
    yield made
    blueflame(made, "up", "--stop")


def listed(settings: Settings) -> dict[str, Any]:
    """Return the only schedule."""
    (found,) = json.loads(blueflame(settings, "schedule", "list", "--json").stdout)["schedules"]
    return found


def fires(settings: Settings, outcome: str, before: str | None = None) -> dict[str, Any]:
    """Let the schedule fire, and return it once it shows this outcome."""
    fired = blueflame(settings, "schedule", "trigger", "tidy")
    assert fired.returncode == 0, fired.stderr
    assert unshown("nightly", fired.stdout) == []
    shown: list[dict[str, Any]] = []

    def is_there() -> bool:
        shown[:] = [listed(settings)]
        return shown[0]["last"] == outcome and shown[0]["last_at"] != before

    until(is_there, f"a firing that is {outcome!r}", seen=lambda: shown)
    return shown[0]


def test_a_schedule_reads_the_configuration_when_it_fires_and_waits_for_open_sessions(
    settings: Settings, tmp_path: Path
) -> None:
    repo = repository(tmp_path / "repo", {"README": "x\n", "blueflame.yaml": CONFIG})
    common = ("--repo", str(repo), "--playbook", GREETING)
    added = blueflame(
        settings,
        "schedule",
        "add",
        "tidy",
        "Greet",
        "--cron",
        "0 0 1 1 *",
        "--auto-approve",
        *common,
    )
    assert added.returncode == 0, added.stderr
    assert "next" in added.stdout

    # A person's session that waits for approval.
    by_hand = blueflame(settings, "run", "Greet", "--detach", "--json", *common)
    session = json.loads(by_hand.stdout)["session"]
    until(
        lambda: session in blueflame(settings, "ls").stdout,
        "the session is listed",
    )
    skipped = fires(settings, "skipped")
    assert f"session '{session}' is open" in skipped["last_reason"]
    assert blueflame(settings, "stop", session).returncode == 0
    until(
        lambda: blueflame(settings, "watch", session).returncode == ExitCode.STOPPED,
        "the end of the person's session",
    )

    # The file is wrong now: the next firing says so, and the one after that has it right again.
    (repo / "blueflame.yaml").write_text(CONFIG + "nonsense: 1\n")
    refused = fires(settings, "refused", skipped["last_at"])
    assert "nonsense" in refused["last_reason"]
    (repo / "blueflame.yaml").write_text(CONFIG)
    started = fires(settings, "started", refused["last_at"])
    ended = blueflame(settings, "watch", started["last_session"])
    assert ended.returncode == ExitCode.COMPLETE, ended.stdout + ended.stderr
    assert "SCRIPTED" in ended.stdout

    paused = blueflame(settings, "schedule", "pause", "tidy").stdout
    removed = blueflame(settings, "schedule", "remove", "tidy").stdout
    assert unshown("nightly", (paused + removed).replace("tidy", "order-desk")) == []
    assert "no schedule yet" in blueflame(settings, "schedule", "list").stdout
