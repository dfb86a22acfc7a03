"""A person at a command."""

import tempfile
from pathlib import Path

import pytest

from tests.badinput.command import Command


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Commands whose temporary files are counted."""
    made = Command(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(made.temporary))
    return made
