"""Texts that no one wrote: nothing crashes, and doubt is denied. `make fuzz` looks longer."""

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from activities.adapters.shell.bash_parser import parse
from tests.unit.activities.adapters.shell.disguises import anything, shellish, tokens
from workflows.domain.agent.model_values import Role
from workflows.domain.agent.shell_tree import Group, Unreadable
from workflows.domain.agent.tool_policy import Standing
from workflows.policy.commands.judgement import command_denial

pytestmark = pytest.mark.fuzz

DEVELOPER = Standing(role=Role.DEVELOPER, claims=("**",))


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
@example("", "\ud800", "<<")
def test_characters_that_terminals_and_shells_take_apart_are_unreadable(a: str, bad: str, b: str):
    assert isinstance(parse(a + bad + b), Unreadable)


@given(st.one_of(shellish, tokens))
@example("cat <<x")
@example("echo '")
@example(": #")
@example("f()")
@example("<$")
@example("x=$ ")
def test_nothing_in_front_hides_a_denied_command(text: str):
    """What stays open makes the whole unreadable; what is closed lets the command run."""
    assume(not text.endswith("\\"))
    assert denied(f"{text}\ngit push\n")


@given(st.one_of(shellish, tokens))
@example("<<x")
def test_nothing_behind_hides_a_denied_command(text: str):
    assert denied(f"git push\n{text}")
    assert denied(f"git push; {text}")
