"""`proposal`: a command after another one, and how a person would type it."""

from pathlib import Path
from subprocess import run

from activities.projects.proposal import after, as_typed


def test_a_command_after_others_keeps_its_words(tmp_path: Path):
    argv = after("cd deep", after("export A=1", ("printenv", "A")))
    (tmp_path / "deep").mkdir()
    assert run(argv, cwd=tmp_path, capture_output=True, check=True).stdout == b"1\n"
    assert argv[-2:] == ("printenv", "A")
    assert as_typed(argv) == "cd deep && export A=1 && printenv A"


def test_a_command_is_quoted_as_a_shell_needs_it():
    assert as_typed(("pytest", "-k", "a b")) == "pytest -k 'a b'"
    assert as_typed(("bash", "-c", "echo a")) == "bash -c 'echo a'"
    assert as_typed(()) == ""
