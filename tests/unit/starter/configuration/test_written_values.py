"""What is written is read again as the same value."""

import json
from datetime import timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, JsonValue

from activities.yaml_documents.model_reader import parse_document
from starter.configuration.file_shape import read_file
from starter.configuration.gate_commands import BASH
from starter.configuration.value_types import parse_duration
from starter.configuration.written_values import command, duration, flow, gates, spelled
from workflows.domain.gate import GateSpec
from workflows.domain.session.session_modes import Pacing

pytestmark = pytest.mark.fuzz

TEXTS = st.text() | st.sampled_from(
    ("yes", "Null", "1", "-q", "--x=1", "./...", "a: b", "\x7f", "#")
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(TEXTS.filter(bool), inner, max_size=3)
    ),
    max_leaves=6,
)


class Anything(BaseModel, frozen=True, extra="forbid"):
    value: JsonValue


@given(VALUES)
def test_a_value_on_one_line_is_read_as_itself(value: JsonValue):
    line = flow(value)
    assert "\n" not in line
    assert parse_document(Anything, f"value: {line}\n", "x").value == value


@given(st.timedeltas(timedelta(seconds=1), timedelta(hours=24)))
def test_a_duration_is_read_as_itself(value: timedelta):
    whole = timedelta(seconds=int(value.total_seconds()))
    assert parse_duration(duration(whole)) == whole


@given(st.lists(st.text(min_size=1), min_size=1).map(tuple) | st.text().map(lambda t: (*BASH, t)))
def test_a_gate_is_read_as_itself(argv: tuple[str, ...]):
    written = flow({"tests": {"run": command(argv), "timeout": "90s"}})
    try:
        entries = read_file(f"version: 1\ngates: {written}\n", "x").value.gates
    except Exception:  # noqa: BLE001 (what no file may say cannot have come from one)
        return
    assert entries is not None
    assert entries["tests"].run == argv


def test_a_command_for_the_shell_is_one_text():
    assert command((*BASH, "a && b")) == "a && b"
    assert command((*BASH, "a b")) == [*BASH, "a b"]
    assert command(("pytest", "-q")) == ["pytest", "-q"]


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("pacing", Pacing.FLOW, "flow"),
        ("turns", 7, 7),
        ("budget.stop_usd", Decimal(10), 10),
        ("budget.stop_usd", Decimal("0.10"), 0.1),
        ("budget.stop_usd", Decimal("0.12345678901234567890123"), "0.12345678901234567890123"),
        ("command_timeout", timedelta(minutes=90), "1h30m"),
        ("gates", None, None),
        ("gates", (), {}),
        ("gates", (GateSpec(name="a", argv=("x",)),), {"a": {"run": ["x"], "timeout": "10m"}}),
        ("worktree.setup", (("x", "y"),), [["x", "y"]]),
        ("worktree.copy", ("a",), ["a"]),
    ],
)
def test_settings_are_spelled_as_in_the_file(key: str, value: object, expected: JsonValue):
    assert spelled(key, value) == expected
    assert json.dumps(spelled(key, value))


def test_gates_keep_their_order():
    specs = tuple(GateSpec(name=name, argv=("x",)) for name in ("z", "a"))
    assert list(gates(specs)) == ["z", "a"]
