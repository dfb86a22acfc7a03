"""An older file becomes one of today with everything that it says, comments and all."""

import contextlib

import pytest
from hypothesis import given

from activities.yaml_documents.source_places import Source
from starter.configuration.configuration_errors import ConfigurationError
from starter.configuration.file_shape import VERSION, read_file
from starter.configuration.migration import migrate
from tests.unit.broken_yaml import yaml_texts

pytestmark = pytest.mark.fuzz

COMMENTED = """\
# Ours.

# Quick ones first.
gates:
    lint: {run: [ruff, 'check'], timeout: 2m}   # cheap
    tests:
        run: |
            make all
            make test
budget:   # small
    stop_usd: 3
worktree:
    copy:
      - "a"
      - b    # needed
# The end.
"""


def test_comments_order_and_quotes_stay():
    done = migrate(COMMENTED, "x.yaml")
    assert done.before == 0
    head, rest = COMMENTED.split("gates:", 1)
    assert done.text == f"{head}version: {VERSION}\ngates:{rest}"
    assert read_file(done.text, "x.yaml").value.attempts is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{pacing: wave}\n", "{version: 1, pacing: wave}\n"),
        ("pacing: wave", "version: 1\npacing: wave\n"),
        ("version:\npacing: wave\n", "version: 1\npacing: wave\n"),
        (
            "pacing: wave\r\n# c\r\nturns: 3\r\n",
            "version: 1\r\npacing: wave\r\n# c\r\nturns: 3\r\n",
        ),
        ("turns: &a 3\nattempts: *a\n", "version: 1\nturns: &a 3\nattempts: *a\n"),
        ("gates: {t: {run: '" + "x " * 300 + "'}}\n", None),
        ("{}\n", "version: 1\n"),
        ("turns: &a 3\nattempts: &a 2\n", "version: 1\nturns: &a 3\nattempts: &a 2\n"),
        ("version: # none yet\nturns: 3\n", "version: 1 # none yet\nturns: 3\n"),
    ],
)
def test_a_file_without_a_version_gets_it(text: str, expected: str | None):
    assert migrate(text, "x.yaml").text == (expected or f"version: 1\n{text}")


def test_a_current_file_is_not_changed():
    text = "pacing:   wave # x\nversion: 1\n"
    assert migrate(text, "x.yaml") == (text, VERSION)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "turns: 1\nversion: 2\n",
            "x.yaml:2:1: version: 2 is not one of 0, 1; update",
        ),
        ("version: true\n", "x.yaml:1:1: version: true is not one of 0, 1"),
        ("version: '1'\n", "x.yaml:1:1: version: '1' is not one of 0, 1"),
        ("", "x.yaml:1:1: no mapping of keys to values; there is nothing to migrate"),
        ("- a\n", "x.yaml:1:1: no mapping of keys to values"),
        ("a: 1\na: 2\n", "x.yaml:2:1: the key 'a' stands twice"),
        ("a: [\n", "x.yaml:2:1: "),
        ("!!int x: 1\n", "x.yaml:1:1: cannot be rewritten without a change of what it says; write"),
        ("0x0F: 1\nTrue: 2\n", "x.yaml:1:1: cannot be rewritten without a change of what it says"),
    ],
)
def test_a_file_that_cannot_be_migrated_is_reported(text: str, expected: str):
    with pytest.raises(ConfigurationError) as caught:
        migrate(text, "x.yaml")
    assert str(caught.value).startswith(expected)


@given(yaml_texts("pacing: wave", "pacing", "gates", "run", "budget", "stop_usd", "worktree"))
def test_migration_keeps_every_value(text: str):
    done = None
    with contextlib.suppress(ConfigurationError):
        done = migrate(text, "x.yaml")
    if done is None or done.before == VERSION:
        return
    before = Source("x").read(text)
    assert isinstance(before, dict)
    assert Source("x").read(done.text) == {**before, "version": VERSION}
