"""The daily clean-up: when it is due, and how far it goes for the budget."""

import logging
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from starter.machine.cleaning.automatic_cleanup import clean_within_budget, is_due
from starter.machine.cleaning.cleanup_request import Cleaned
from workers.hosting.session_cleaning import CleaningReport
from workers.settings import Settings

DAY = 24 * 3600
NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)


def test_it_is_due_once_a_day_and_first_a_day_after_the_data_directory_is_new(
    tmp_path: Path,
) -> None:
    assert not is_due(tmp_path, 0)
    made = (tmp_path / "cleaned").stat().st_mtime
    assert not is_due(tmp_path, made + DAY - 1)
    assert is_due(tmp_path, made + DAY)
    renewed = (tmp_path / "cleaned").stat().st_mtime
    assert not is_due(tmp_path, renewed + 1)


class Disk:
    """Uses less the younger the sessions are that go."""

    def __init__(self, *used: int) -> None:
        self.used = list(used)
        self.ages: list[float] = []

    async def clean(self, _: Settings, age: timedelta) -> Cleaned:
        self.ages.append(age / timedelta(days=1))
        host = CleaningReport(kept_bytes=self.used.pop(0))
        return Cleaned(dry_run=False, before=NOON, open_sessions=0, host=host, logs=0, log_bytes=0)


@pytest.mark.parametrize(
    ("used", "ages"),
    [((100,), [8]), ((101, 100), [8, 4]), ((103, 102, 101, 99), [8, 4, 2, 0])],
)
async def test_sessions_go_before_their_retention_only_as_far_as_the_budget_asks(
    tmp_path: Path, used: tuple[int, ...], ages: list[float]
) -> None:
    disk = Disk(*used)
    settings = Settings(data_dir=tmp_path, retention_days=8, disk_bytes=100)
    await clean_within_budget(settings, disk.clean)
    assert disk.ages == ages


async def test_what_may_not_go_is_left_over_the_budget_and_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    disk = Disk(200)
    settings = Settings(data_dir=tmp_path, retention_days=0, disk_bytes=100)
    with caplog.at_level(logging.WARNING):
        await clean_within_budget(settings, disk.clean)
    assert disk.ages == [0]
    assert "`blueflame cleanup --dry-run` says why each session stays" in caplog.text
