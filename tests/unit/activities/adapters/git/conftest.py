"""A user's repository, and ours beside it."""

from pathlib import Path

import pytest

from tests.unit.activities.adapters.git.home import Home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """An empty home; the test makes the repository."""
    return Home(tmp_path)
