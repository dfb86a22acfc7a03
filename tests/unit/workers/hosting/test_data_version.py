"""The data directory says its format; a release that does not know it touches nothing."""

from pathlib import Path

import pytest

from tests.e2e.processes import blueflame
from workers.__main__ import main
from workers.hosting import data_layout
from workers.hosting.data_version import (
    DATA_VERSION,
    DataVersionError,
    bring_forward,
    read_version,
)
from workers.settings import Settings


def test_a_new_directory_is_of_this_format(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "data")
    data_layout.prepare(settings)
    assert (settings.data_dir / "version").read_text() == f"{DATA_VERSION}\n"
    assert read_version(settings.data_dir) == DATA_VERSION


def test_a_directory_without_a_version_is_of_the_first_format(tmp_path: Path) -> None:
    assert read_version(tmp_path) == 1
    bring_forward(tmp_path)
    assert (tmp_path / "version").read_text() == f"{DATA_VERSION}\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [("99", "is of format 99, and this release"), ("x", "holds 'x'"), ("0", "holds '0'"), ("", "")],
)
def test_other_formats_are_refused_and_stay(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "version").write_text(text)
    with pytest.raises(DataVersionError) as refused:
        bring_forward(tmp_path)
    assert words in str(refused.value)
    assert "BLUEFLAME_DATA_DIR" in str(refused.value)
    assert [path.name for path in tmp_path.iterdir()] == ["version"]
    assert (tmp_path / "version").read_text() == text


@pytest.mark.sampled(3)
@pytest.mark.parametrize("command", [("ls",), ("up", "--detach"), ("backup", "x.tar")])
def test_commands_refuse_a_newer_directory(tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "version").write_text("2")
    done = blueflame(Settings(data_dir=tmp_path), *command)
    assert done.returncode == 2
    assert "use the newer release that wrote it" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["version"]


def test_a_worker_refuses_a_newer_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "version").write_text("2")
    monkeypatch.setenv("BLUEFLAME_DATA_DIR", str(tmp_path))
    assert main(["--roles", "workflows"]) == 2
    assert "use the newer release that wrote it" in capsys.readouterr().out
