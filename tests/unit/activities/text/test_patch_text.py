"""Names in a patch that is shown."""

import os
from pathlib import Path

from activities.text.patch_text import patch_text
from tests.unit.activities.adapters.git.home import Home, write


async def test_g28_names_that_are_not_utf8_can_be_told_apart(tmp_path: Path):
    """Field report G28."""
    home = Home(tmp_path)
    names = [os.fsdecode(b"caf\xe9.txt"), os.fsdecode(b"caf\xe8.txt"), "café.txt"]
    home.make(dict.fromkeys(names, "one\n"))
    place = await home.start()
    write(place, dict.fromkeys(names, b"caf\xe9\n--- a/caf\xe9\n"))
    text = patch_text(await home.host.diff(home.base, await home.commit_work()))
    heads = [line for line in text.splitlines() if line.startswith("diff --git ")]
    assert heads == [
        "diff --git a/café.txt b/café.txt",
        "diff --git a/caf\\xe8.txt b/caf\\xe8.txt",
        "diff --git a/caf\\xe9.txt b/caf\\xe9.txt",
    ]
    assert text.count("\n+caf\ufffd\n+--- a/caf\ufffd\n") == 3
