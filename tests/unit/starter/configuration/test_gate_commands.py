import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from starter.configuration.gate_commands import BASH, check_arguments, parse_command


@pytest.mark.parametrize(
    ("text", "argv"),
    [
        ("pytest -q", ("pytest", "-q")),
        ("  make   test ", ("make", "test")),
        ("pytest -k 'not slow' t.py::x[a]", ("pytest", "-k", "not slow", "t.py::x[a]")),
        ("echo 'a | b' \"c && d\"", ("echo", "a | b", "c && d")),
        (r"echo a\|b", ("echo", "a|b")),
        ("echo '$HOME' a#b", ("echo", "$HOME", "a#b")),
    ],
)
def test_plain_text_becomes_arguments(text: str, argv: tuple[str, ...]):
    assert parse_command(text) == argv


@pytest.mark.parametrize(
    "text",
    [
        "a | b",
        "a && b",
        "a; b",
        "a > out",
        "A=1 a",
        "a $B",
        'a "$B"',
        "a `b`",
        "a *.py",
        "~/a",
        "a # why",
        "cd a\nmake",
        "(a)",
    ],
)
def test_shell_syntax_runs_under_a_strict_shell(text: str):
    assert parse_command(text) == (*BASH, text)


@pytest.mark.parametrize(
    ("script", "code"),
    [("false | cat", 1), ("false; true", 1), ("false\ntrue", 1), ("true && exit 7", 7), ("a=1", 0)],
)
def test_a_shell_command_fails_if_any_part_fails(script: str, code: int):
    assert subprocess.run(parse_command(script), check=False).returncode == code


@pytest.mark.parametrize("text", ["", "  ", "don't", "a\0b", "''"])
def test_rejects_an_invalid_command(text: str):
    with pytest.raises(ValueError, match=r"command|quote"):
        parse_command(text)


@pytest.mark.parametrize(
    "argv",
    [
        ("sh", "-c", "pytest | tail"),
        ("/bin/bash", "-lc", "pytest 2>&1 |tail"),
        ("bash", "-e", "-c", "a && b|c"),
        ("dash", "-c", "a |& b"),
    ],
)
def test_a_pipe_without_pipefail_is_refused(argv: tuple[str, ...]):
    """Field report R35."""
    with pytest.raises(ValueError, match="pipefail"):
        check_arguments(argv)


@pytest.mark.parametrize(
    "argv",
    [
        ("bash", "-o", "pipefail", "-c", "a | b"),
        ("bash", "-c", "set -eo pipefail; a | b"),
        ("bash", "-c", "a || b"),
        ("bash", "-c", "echo 'a | b'"),
        ("bash", "-c", "a >| b"),
        ("bash", "a.sh"),
        ("python", "-c", "print(1 | 2)"),
        ("sh", "-c"),
    ],
)
def test_other_arguments_are_unchanged(argv: tuple[str, ...]):
    assert check_arguments(argv) == argv


@pytest.mark.parametrize("argv", [(), ("",), (" ",), ("a", "b\0")])
def test_arguments_without_a_program(argv: tuple[str, ...]):
    with pytest.raises(ValueError, match="program"):
        check_arguments(argv)


@given(st.text() | st.text(alphabet="ab |&;'\"\\$`\n#~=*"))
def test_any_text_is_a_command_or_refused(text: str):
    try:
        argv = parse_command(text)
    except ValueError:
        return
    assert argv[0]
    assert check_arguments(argv) == argv
