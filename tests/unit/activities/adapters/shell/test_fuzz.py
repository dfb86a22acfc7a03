"""Texts that nobody wrote: nothing crashes, doubt is denied, and a real bash is the witness.

`make fuzz` runs these for as long as it is told.
"""

import os
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from activities.adapters.shell.grammar import parse
from tests.unit.policy.command_table import DENIED
from workflows.domain.command import Group, Unreadable
from workflows.domain.models import Role
from workflows.domain.tool_policy import Standing
from workflows.policy.commands import command_denial

pytestmark = pytest.mark.fuzz

DEVELOPER = Standing(role=Role.DEVELOPER, claims=("**",))
SHELLISH = "ab \t\n;|&<>()$`'\"{}[]\\#=!*?~-+@:,.%^/0EOFé\u200b\x00\r\ufdd0"

shellish = st.text(alphabet=SHELLISH, max_size=60)
tokens = st.lists(
    st.sampled_from(
        [
            "git",
            "push",
            "echo",
            "$(",
            ")",
            "`",
            "'",
            '"',
            ";",
            "&&",
            "||",
            "|",
            "&",
            "(",
            ")",
            "{",
            "}",
            "\n",
            "if",
            "then",
            "else",
            "fi",
            "for",
            "in",
            "do",
            "done",
            "while",
            "case",
            "esac",
            "<<",
            "<<-",
            "<<<",
            "EOF",
            ">",
            ">>",
            "<",
            "2>&1",
            "$x",
            "${x}",
            "$((",
            "))",
            "[[",
            "]]",
            "[",
            "]",
            "\\",
            "!",
            "function",
            "f()",
            "=",
            "a=1",
            "#",
            "-c",
            "bash",
            "eval",
            "*",
            "?",
            "{a,b}",
            "$'\\x67'",
            "<(",
            ">(",
        ]
    ),
    max_size=15,
).map(" ".join)
anything = st.one_of(st.text(max_size=80), shellish, tokens)


def denied(command: str) -> bool:
    return command_denial(command, DEVELOPER, parse) is not None


@given(anything)
def test_any_text_is_read_or_unreadable_and_always_the_same(text: str):
    found = parse(text)
    assert isinstance(found, (Group, Unreadable))
    assert parse(text) == found
    assert denied(text) or isinstance(found, Group)


@given(st.binary(max_size=80))
def test_random_bytes_are_read_or_unreadable(data: bytes):
    assert isinstance(parse(data.decode("utf-8", "surrogateescape")), (Group, Unreadable))
    assert isinstance(parse(data.decode("latin-1")), (Group, Unreadable))


@given(st.text(), st.sampled_from("\x00\x01\x07\x0b\r\x1b\x7f\ufdd0\ud800"), st.text())
def test_characters_that_terminals_and_shells_take_apart_are_unreadable(a: str, bad: str, b: str):
    assert isinstance(parse(a + bad + b), Unreadable)


@given(st.one_of(shellish, tokens))
@example("cat <<x")
@example("echo '")
@example(": #")
@example("f()")
def test_nothing_in_front_hides_a_denied_command(text: str):
    """What stays open makes the whole unreadable; what is closed lets the command run."""
    assume(not text.endswith("\\"))
    assert denied(f"{text}\ngit push\n")


@given(st.one_of(shellish, tokens))
@example("<<x")
def test_nothing_behind_hides_a_denied_command(text: str):
    assert denied(f"git push\n{text}")
    assert denied(f"git push; {text}")


# --- wrapping never turns a deny into an allow ---------------------------------------------------

Wrap = Callable[[str], str]


def quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


TEXT_WRAPS: dict[str, Wrap] = {
    "subshell": lambda c: f"(\n{c}\n)",
    "group": lambda c: f"{{\n{c}\n}}",
    "substitution": lambda c: f"echo $(\n{c}\n)",
    "quoted substitution": lambda c: f'echo "$(\n{c}\n)"',
    "process": lambda c: f"cat <(\n{c}\n)",
    "and": lambda c: f"true &&\n{c}",
    "or": lambda c: f"false ||\n{c}",
    "after": lambda c: f"echo a; {c}",
    "pipe": lambda c: f"true |\n{c}",
    "background": lambda c: f"{{\n{c}\n}} & wait",
    "time": lambda c: f"time {{\n{c}\n}}",
    "coproc": lambda c: f"coproc {{\n{c}\n}}; wait",
    "not": lambda c: f"! {{\n{c}\n}}",
    "if": lambda c: f"if true; then\n{c}\nfi",
    "while": lambda c: f"while true; do\n{c}\nbreak; done",
    "for": lambda c: f"for i in 1; do\n{c}\ndone",
    "case": lambda c: f"case a in a)\n{c}\n;; esac",
    "function": lambda c: f"f() {{\n{c}\n}}; f",
    "assignment": lambda c: f"x=$(\n{c}\n)",
    "bash -c": lambda c: f"bash -c {quoted(c)}",
    "sh -ec": lambda c: f"sh -ec {quoted(c)}",
    "eval": lambda c: f"eval {quoted(c)}",
    "env bash": lambda c: f"env X=1 timeout -k 1 5 bash --norc -c {quoted(c)} name",
    "xargs sh": lambda c: f"echo | xargs -n1 nice -n 1 bash -c {quoted(c)}",
    "find": lambda c: f"find . -maxdepth 0 -exec bash -c {quoted(c)} \\;",
    "here-document": lambda c: f"bash <<'q7'\n{c}\nq7\n",
    "here-string": lambda c: f"bash <<< {quoted(c)}",
    "trap": lambda c: f"trap {quoted(c)} EXIT",
}
PREFIXES = (
    "env ", "env -i A=1 PATH=$PATH ", "timeout 5 ", "timeout -s KILL 5 ", "nice -n 3 ", "nohup ",
    "setsid -w ", "stdbuf -oL ", "command ", "exec ", "builtin command ", "time ", "env A=1 B=2 ",
    ">/dev/null ", "echo x | xargs -I% ", "xargs -a /dev/null -n 1 ",
)  # fmt: skip
"""For commands that are one program with its words."""
SIMPLE = tuple(
    command
    for command, _ in DENIED
    if not any(mark in command for mark in "|&;\n(){}<>`=!")
    and not command.startswith(("if ", "#"))
)


@given(st.sampled_from(DENIED), st.lists(st.sampled_from(sorted(TEXT_WRAPS)), max_size=3))
def test_a_denied_command_stays_denied_in_any_wrapping(case: tuple[str, str], wraps: list[str]):
    command = case[0]
    standing = Standing(role=Role.DEVELOPER, claims=("src/**", "tests/**"))
    for wrap in wraps:
        command = TEXT_WRAPS[wrap](command)
    assert command_denial(command, standing, parse) is not None


@given(st.sampled_from(SIMPLE), st.lists(st.sampled_from(PREFIXES), max_size=4).map("".join))
def test_a_denied_program_stays_denied_behind_any_prefix(command: str, prefix: str):
    standing = Standing(role=Role.DEVELOPER, claims=("src/**", "tests/**"))
    assert command_denial(prefix + command, standing, parse) is not None


# --- a real bash as the witness ------------------------------------------------------------------

_PROGRAMS = [
    "bash",
    "cat",
    "env",
    "false",
    "find",
    "nice",
    "nohup",
    "setsid",
    "sh",
    "stdbuf",
    "timeout",
    "true",
    "xargs",
    "sleep",
]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of programs in which `git` only notes that it was started."""
    folder = tmp_path_factory.mktemp("bin")
    for name in _PROGRAMS:
        found = shutil.which(name)
        assert found is not None, name
        (folder / name).symlink_to(found)
    (folder / "git").write_text('#!/bin/sh\necho "$*" >> "$WITNESS"\n')
    (folder / "git").chmod(0o755)
    return folder


def pushes(stage: Path, command: str) -> bool:
    """Run a command, and tell whether it started `git push`."""
    witness = stage / "witness"
    witness.unlink(missing_ok=True)
    subprocess.run(
        ["bash", "-c", command],
        cwd=stage.parent,
        env={"PATH": str(stage), "WITNESS": str(witness), "LC_ALL": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=60,
        check=False,
    )
    return witness.exists() and any(map(_is_push, witness.read_text().splitlines()))


def _is_push(started: str) -> bool:
    words = started.split()
    while words[:1] in (["-C"], ["-c"]):
        words = words[2:]
    return words[:1] == ["push"]


@pytest.mark.parametrize("wrap", [name for name in TEXT_WRAPS if name != "xargs sh"])
def test_the_witness_sees_each_wrapping(stage: Path, wrap: str):
    assert pushes(stage, TEXT_WRAPS[wrap]("git push"))


def _letter(letter: str) -> st.SearchStrategy[str]:
    code = ord(letter)
    return st.sampled_from(
        [
            letter,
            letter,
            f"\\{letter}",
            f"'{letter}'",
            f'"{letter}"',
            f"$'\\x{code:02x}'",
            f"$'\\{code:03o}'",
            f"$'\\u{code:04x}'",
            f'$"{letter}"',
            f"{letter}\\\n",
            f"{letter}''",
            f'{letter}""',
            f"${{none}}{letter}",
            f"$(){letter}",
            f'"${{none}}"{letter}',
        ]
    )


def _disguised(word: str) -> st.SearchStrategy[str]:
    return st.tuples(*map(_letter, word)).map("".join)


disguised = st.tuples(
    st.sampled_from(["", *[p for p in PREFIXES if "xargs" not in p]]),
    _disguised("git"),
    st.sampled_from([" ", "\t", " \\\n ", " -C . ", " -c a.b=c ", " >/dev/null ", "  $none "]),
    _disguised("push"),
).map("".join)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(disguised, st.lists(st.sampled_from(sorted(TEXT_WRAPS)), max_size=2))
def test_what_bash_runs_as_a_push_is_denied(stage: Path, command: str, wraps: list[str]):
    for wrap in wraps:
        command = TEXT_WRAPS[wrap](command)
    if not denied(command):
        assert not pushes(stage, command), shlex.quote(command)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(tokens, st.sampled_from(["git push", "git", "$'\\x67'it p\\ush", "git \\\n"]), tokens)
def test_no_heap_of_tokens_that_is_allowed_makes_bash_push(
    stage: Path, before: str, git: str, after: str
):
    """Tokens name harmless programs only; without loops that have no end, and without `bash git`,
    which runs our `git` because it is a script.
    """
    text = f"{before} {git} {after}".replace("while", "").replace("bash", "")
    if not denied(text):
        assert not pushes(stage, text), shlex.quote(text)


def test_the_stage_offers_nothing_that_could_do_harm(stage: Path):
    assert sorted(os.listdir(stage)) == sorted([*_PROGRAMS, "git"]) or (
        sorted(os.listdir(stage)) == sorted([*_PROGRAMS, "git", "witness"])
    )
