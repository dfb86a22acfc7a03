"""Two test runs may end at the same moment, and both remove the temporary folders of older runs."""

import os
from pathlib import Path

import pytest
from _pytest.pathlib import on_rm_rf_error  # what pytest calls for a folder that it cannot remove


def test_a_folder_that_another_run_removes_at_the_same_time_is_no_error(tmp_path: Path) -> None:
    folder = tmp_path / "test_first0"
    # The other run has made a folder in it readable, and has not removed that yet.
    (folder / "work").mkdir(parents=True)
    with pytest.raises(OSError, match="not empty") as caught:
        folder.rmdir()
    # It warns, and every warning but this one is an error.
    assert not on_rm_rf_error(os.rmdir, str(folder), caught.value, start_path=tmp_path)
