"""The corpus of commands, in other clothes: what is denied stays denied, what is honest runs."""

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from activities.adapters.shell.bash_parser import parse
from tests.unit.activities.adapters.shell.disguises import (
    OPAQUE_WRAPS,
    PREFIXES,
    SIMPLE,
    TEXT_WRAPS,
    requoted,
)
from tests.unit.policy.commands.command_table import ALLOWED, DENIED
from workflows.domain.agent.model_values import Role
from workflows.domain.agent.tool_policy import Standing
from workflows.policy.commands.judgement import command_denial

pytestmark = pytest.mark.fuzz

DEVELOPER = Standing(role=Role.DEVELOPER, claims=("src/**", "tests/**"))
PLAIN = re.compile(r"(?!\w+=)[\w./ =-]+", re.ASCII)
"""Words without a meaning for bash, and no assignment in front."""
PLAIN_DENIED = tuple(command for command in SIMPLE if PLAIN.fullmatch(command))
PLAIN_ALLOWED = tuple(command for command in ALLOWED if PLAIN.fullmatch(command))
WRAPPED_ALLOWED = tuple(
    command for command in ALLOWED if "<<" not in command and not command.startswith("bash;")
)
"""A here-document in quotes inside a text is given up, and so is a shell that reads its input."""


def is_allowed(command: str) -> bool:
    return command_denial(command, DEVELOPER, parse) is None


@given(
    st.sampled_from([command for command, _ in DENIED]),
    st.lists(st.sampled_from(sorted(TEXT_WRAPS)), max_size=3),
)
def test_a_denied_command_stays_denied_in_any_wrapping(command: str, wraps: list[str]):
    for wrap in wraps:
        command = TEXT_WRAPS[wrap](command)
    assert not is_allowed(command)


@given(st.sampled_from(SIMPLE), st.lists(st.sampled_from(PREFIXES), max_size=4).map("".join))
def test_a_denied_program_stays_denied_behind_any_prefix(command: str, prefix: str):
    assert not is_allowed(prefix + command)


@given(st.sampled_from(PLAIN_DENIED).flatmap(requoted))
def test_a_denied_command_stays_denied_in_any_quotes(command: str):
    assert not is_allowed(command)


@given(
    st.sampled_from(WRAPPED_ALLOWED),
    st.lists(st.sampled_from(sorted(TEXT_WRAPS.keys() - OPAQUE_WRAPS)), max_size=2),
)
def test_an_honest_command_runs_in_any_wrapping(command: str, wraps: list[str]):
    for wrap in wraps:
        command = TEXT_WRAPS[wrap](command)
    assert is_allowed(command)


@given(st.sampled_from(PLAIN_ALLOWED).flatmap(requoted), st.sampled_from(("", " ", " # git push")))
def test_an_honest_command_runs_in_any_quotes(command: str, behind: str):
    assume(not command.endswith("\n"))
    assert is_allowed(command + behind)
