"""`workers.hosting.data_layout`: the directories and a host's name."""

import os
import resource
import signal
import stat
from pathlib import Path

import pytest

from workers.hosting import data_layout
from workers.settings import Settings


def test_the_data_directory_is_closed_to_others(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "a" / "b")
    data_layout.prepare(settings)
    data_layout.prepare(settings)
    assert stat.S_IMODE(settings.data_dir.stat().st_mode) == 0o700
    assert settings.store_dir.is_dir()
    assert settings.logs_dir.is_dir()


def test_as_root_the_hosts_part_belongs_to_its_user(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "data")
    data_layout.prepare(settings)
    owner = settings.host_uid if os.geteuid() == 0 else os.geteuid()
    assert settings.host_dir.stat().st_uid == owner


def test_a_host_keeps_its_name(tmp_path: Path) -> None:
    first, second = (Settings(data_dir=tmp_path / name) for name in ("a", "b"))
    for settings in (first, second):
        data_layout.prepare(settings)
    assert data_layout.host_name(first) == data_layout.host_name(first)
    assert data_layout.host_name(first) != data_layout.host_name(second)


def test_a_host_that_is_the_first_to_start_makes_the_directory(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "data")
    name = data_layout.host_name(settings)
    assert (settings.host_dir / "name").read_text() == name
    assert stat.S_IMODE(settings.data_dir.stat().st_mode) == 0o700


def test_a_given_name_goes_first(tmp_path: Path) -> None:
    assert data_layout.host_name(Settings(data_dir=tmp_path, host_name="h1")) == "h1"


def test_the_hosts_journal_is_in_its_own_directory(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    assert data_layout.journal_dir(settings, on_host=True).is_relative_to(settings.host_dir)
    assert not data_layout.journal_dir(settings, on_host=False).is_relative_to(settings.host_dir)


def test_a_name_that_a_full_disk_refused_does_not_stay_empty(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    data_layout.prepare(settings)
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limit[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            data_layout.host_name(settings)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, before)
    assert len(data_layout.host_name(settings)) > 8
