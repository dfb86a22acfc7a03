"""`up` with the real workers: every role comes up, with the rights and the keys it may have."""

import os
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.e2e.processes import blueflame, children, command_line, is_alive, until
from workers.server.supervisor import read_state
from workers.settings import Settings

pytestmark = pytest.mark.e2e

KEYS = {"ANTHROPIC_API_KEY": "canary-a", "X_API_KEY": "canary-x", "GITHUB_TOKEN": "canary-t"}


@pytest.fixture
def settings(tmp_path: Path) -> Generator[Settings]:
    made = Settings(data_dir=tmp_path / "data", temporal_port=0, ui_port=0)
    yield made
    blueflame(made, "up", "--stop")


def _roles(pid: int) -> dict[str, int]:
    """Return the worker process of each role."""
    found: dict[str, int] = {}
    for child in children(pid):
        words = command_line(child)
        if "--roles" in words:
            found[words[words.index("--roles") + 1]] = child
    return found


@pytest.mark.slow
def test_all_roles_come_up_in_the_background_and_end_when_told(settings: Settings) -> None:
    came = blueflame(settings, "up", "--detach", more=KEYS)
    assert came.returncode == 0, came.stderr
    state = read_state(settings)
    assert state is not None
    assert state.ready
    workers = _roles(state.pid)
    assert set(workers) == {"workflows", "models", "host", "land"}
    for role, pid in workers.items():
        secrets = Path(f"/proc/{pid}/environ").read_text().count("canary-")
        assert secrets == (1 if role == "models" else 0), role
    if os.geteuid() == 0:
        assert Path(f"/proc/{workers['host']}").stat().st_uid == settings.host_uid

    again = blueflame(settings, "up", "--detach")
    assert f"process {state.pid} keeps" in again.stdout

    assert blueflame(settings, "up", "--stop").stdout == "ended\n"
    until(lambda: not any(map(is_alive, workers.values())), "the workers are gone")
    assert blueflame(settings, "up", "--stop").stdout == "nothing was running here\n"
