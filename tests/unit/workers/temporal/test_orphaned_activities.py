"""`orphaned_activities`: a journal that vanishes as it is read; the server's part is in e2e."""

import shutil
from pathlib import Path
from typing import Any

from workers.temporal.orphaned_activities import fail_orphans


class Removing:
    """A client during whose first call the journal's owner removes it."""

    def __init__(self, journal: Path) -> None:
        self._journal = journal

    def get_async_activity_handle(self, *, task_token: bytes) -> "Removing":
        return self

    async def fail(self, error: Exception) -> None:
        shutil.rmtree(self._journal)


async def test_a_journal_that_its_owner_removes_is_passed_over(tmp_path: Path) -> None:
    journal = tmp_path / "ending"
    journal.mkdir()
    for name in ("lock", "1", "2"):
        (journal / name).touch()
    client: Any = Removing(journal)
    assert await fail_orphans(client, tmp_path) == 1
    assert not journal.exists()
