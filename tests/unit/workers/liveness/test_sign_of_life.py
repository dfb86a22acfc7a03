"""A sign of life says when a worker was last well, and whether that is long enough ago."""

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from workers.liveness.process_presence import is_running
from workers.liveness.sign_of_life import Sign, read_sign, sign_file, why_not_well, write_sign
from workers.roles import Role
from workers.settings import Settings

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def sign(seconds_ago: float, trouble: str = "", pid: int | None = None) -> Sign:
    at = NOW - timedelta(seconds=seconds_ago)
    return Sign(pid=pid or os.getpid(), well_at=at, trouble=trouble, stale_after_s=120)


def ended_pid() -> int:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        return process.pid


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (sign(120), ""),
        (sign(119, "the Temporal server does not answer"), ""),
        (sign(121), "was last well 121 s ago: it no longer shows a sign of life: its event loop"),
        (sign(300, "no server"), "was last well 300 s ago: no server"),
        (sign(-30), ""),  # the clock was set back
        (None, "no worker of role 'models' serves this data directory"),
    ],
)
def test_a_worker_is_well_until_its_sign_is_stale(found: Sign | None, said: str) -> None:
    why = why_not_well(found, Role.MODELS, NOW)
    assert said in why
    assert bool(said) == bool(why)


def test_the_sign_of_a_process_that_ended_does_not_count() -> None:
    pid = ended_pid()
    assert not is_running(pid)
    why = why_not_well(sign(1, pid=pid), Role.LAND, NOW)
    assert why == f"process {pid}, a worker of role 'land', has ended"


def test_trouble_leaves_the_time_of_the_last_good_look() -> None:
    first = sign(60)
    troubled = first.after("no server", NOW)
    assert (troubled.well_at, troubled.trouble) == (first.well_at, "no server")
    assert troubled.after("", NOW) == sign(0)


@pytest.mark.parametrize("role", Role)
def test_each_role_has_its_file_where_its_user_may_write(tmp_path: Path, role: Role) -> None:
    settings = Settings(data_dir=tmp_path)
    settings.host_dir.mkdir()
    file = sign_file(settings, role)
    assert (file.parent == settings.host_dir) == (role is Role.HOST)
    assert read_sign(file) is None
    write_sign(file, sign(0))
    assert read_sign(file) == sign(0)
    file.write_text("{}")
    assert read_sign(file) is None
