"""Names: shown safely, and recognised for what a file system takes them for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.adapters.git.worktrees.collected_names import is_dot_git, name_fault, shown
from activities.adapters.git.worktrees.folder_scan import folders_of

pytestmark = pytest.mark.fuzz


@given(st.binary(min_size=1, max_size=40).filter(lambda name: b"\0" not in name))
def test_what_is_shown_is_text_without_controls(path: bytes):
    text = shown(path)
    text.encode("utf-8")
    assert name_fault(text.encode()) is None


@given(st.binary(min_size=1, max_size=40))
def test_a_name_without_fault_is_shown_as_it_is(path: bytes):
    if name_fault(path) is None:
        assert shown(path).encode() == path


@pytest.mark.parametrize(
    "name", ["a b.txt", "naïve", "日本語", "a\u00a0b", "👨\u200d👩", "-x", "*?[", "\\"]
)
def test_ordinary_names_of_any_language_pass(name: str):
    assert name_fault(name.encode()) is None


@pytest.mark.parametrize(
    "name", [".gitignore", "git", ".github", "git~2", "x.git", "gitfile", ".gi"]
)
def test_neighbours_of_dot_git_are_free(name: str):
    assert not is_dot_git(name.encode())


def test_folders_of_paths_go_up_to_the_root():
    assert folders_of([b"a/b/c", b"d"]) == {b"", b"a", b"a/b"}
    assert folders_of([]) == {b""}
