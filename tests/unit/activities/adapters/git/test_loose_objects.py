"""Objects written here are git's, byte for byte; trailers come back."""

import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from activities.adapters.git import loose_objects
from tests.unit.activities.adapters.git.home import WHEN, plain_git
from workflows.domain.ids import Commit, Tree

LIKE = {"sha1": "0" * 40, "sha256": "0" * 64}


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_git_reads_what_is_written(tmp_path: Path, object_format: str):
    plain_git(tmp_path, "init", "-q", f"--object-format={object_format}")
    folder, like = tmp_path / ".git/objects", LIKE[object_format]
    data = bytes(range(256)) * 100
    name = loose_objects.write(folder, "blob", data, like)
    assert loose_objects.write(folder, "blob", data, like) == name
    shown = subprocess.run(
        ["git", "cat-file", "blob", name], cwd=tmp_path, check=True, capture_output=True
    )
    assert shown.stdout == data
    tree = Tree(plain_git(tmp_path, "write-tree"))
    text = loose_objects.commit_text(tree, (), "Title ü\n\nBody", WHEN)
    commit = loose_objects.write(folder, "commit", text, like)
    assert plain_git(tmp_path, "log", "-1", "--format=%T|%B|%ct", commit) == (
        f"{tree}|Title ü\n\nBody\n|{int(WHEN.timestamp())}"
    )
    plain_git(tmp_path, "update-ref", "refs/heads/x", commit)
    plain_git(tmp_path, "fsck", "--strict")
    assert [place.name for place in folder.rglob("tmp_*")] == []


def test_a_commit_says_when():
    with pytest.raises(ValueError, match="time zone"):
        loose_objects.commit_text(Tree("1"), (), "x", datetime(2026, 1, 1))  # noqa: DTZ001 the point


def test_the_same_work_is_the_same_commit():
    arguments = (Tree("1" * 40), (Commit("2" * 40),), "message")
    texts = {loose_objects.commit_text(*arguments, when) for when in (WHEN, WHEN.astimezone(UTC))}
    assert len(texts) == 1


KEYS = st.sampled_from(["Blueflame-Task", "Blueflame-Turn", "X"])
VALUES = st.text("a0./-: ", min_size=1).map(lambda text: f"v{' '.join(text.split())}")


@settings(max_examples=50)
@given(message=st.text("a: \n\r", max_size=30), trailers=st.dictionaries(KEYS, VALUES, min_size=1))
def test_trailers_come_back_whatever_the_message(message: str, trailers: dict[str, str]):
    text = loose_objects.with_trailers(message, trailers.items())
    assert loose_objects.read_trailers(text) == trailers


def test_a_value_cannot_add_a_trailer():
    text = loose_objects.with_trailers("x", [("Blueflame-Task", "a\nBlueflame-Turn: 9\r\nX: y")])
    assert list(loose_objects.read_trailers(text)) == ["Blueflame-Task"]


@pytest.mark.parametrize(
    "message", ["", "title", "title\n\nnot: a\ntrailer paragraph", "a: b: c\nd"]
)
def test_other_messages_have_no_trailers(message: str):
    assert loose_objects.read_trailers(message) == {}


def test_a_loose_object_is_read_and_no_damaged_or_other_one(tmp_path: Path):
    name = loose_objects.write(tmp_path, "commit", b"tree 1\n", LIKE["sha1"])
    assert loose_objects.read(tmp_path, "commit", name) == b"tree 1\n"
    assert loose_objects.read(tmp_path, "blob", name) is None
    assert loose_objects.read(tmp_path, "commit", name[::-1]) is None
    other = loose_objects.write(tmp_path, "commit", b"tree 2\n", LIKE["sha1"])
    place = tmp_path / name[:2] / name[2:]
    place.chmod(0o644)
    place.write_bytes((tmp_path / other[:2] / other[2:]).read_bytes())
    assert loose_objects.read(tmp_path, "commit", name) is None
    place.write_bytes(b"not compressed")
    assert loose_objects.read(tmp_path, "commit", name) is None
