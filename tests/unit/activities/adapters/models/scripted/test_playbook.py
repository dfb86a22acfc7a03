"""Scenes are found by role, task, attempt and turn, and a playbook never strays silently."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.adapters.models.scripted.playbook import (
    MAX_PLAYBOOK_BYTES,
    Place,
    Playbook,
    PlaybookGapError,
    PlaybookStrayedError,
    ScriptedCall,
    ScriptedTurn,
    answer,
    locate,
    parse_playbook,
    read_playbook,
)
from activities.yaml_documents.model_reader import DocumentError
from tests.unit.broken_yaml import yaml_texts
from workflows.domain.agent.messages import (
    AssistantMessage,
    Message,
    ToolCall,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from workflows.domain.agent.model_values import Usage
from workflows.policy.agent.opening_messages import COMPACTION

pytestmark = pytest.mark.fuzz

DEMO = """
schema: 1
name: demo
usage: {input_tokens: 1200, output_tokens: 150}
scenes:
  - role: developer
    task: parse-dates
    attempt: 1
    turns:
      - text: I look first.
        calls: [{bash: {command: "ls"}}]
      - calls: [{submit: {summary: "done"}}]
  - role: developer
    task: parse-*
    turns:
      - text: by glob
  - role: developer
    task: parse-dates
    turns:
      - text: any attempt
      - text: any attempt, second
      - text: any attempt, third
  - role: developer
    task: parse-dates
    turn: 2
    attempt: 3
    turns:
      - text: only here
  - role: reviewer
    turns:
      - text: first
        usage: {output_tokens: 7}
        latency_s: 0.5
      - text: again
        repeat: 3
      - text: last
        expect: [ok, fine]
        stop: refusal
"""


def opening(role: str, task: str | None = None, attempt: int = 1, turn: int = 0) -> UserMessage:
    lines = [f"Role: {role}"]
    lines += [f"Task: {task}"] if task else []
    lines += [f"Attempt: {attempt}", *([f"Turn: {turn}"] if turn else [])]
    return UserMessage(text="\n".join([*lines, "", "Do the work. Role: nobody"]))


def after(first: UserMessage, turns: int, result: str = "") -> list[Message]:
    messages: list[Message] = [first]
    for turn in range(turns):
        call = ToolCall(id=f"c{turn}", name="bash", arguments={})
        messages.append(AssistantMessage(tool_calls=(call,)))
        done = ToolResult(call_id=call.id, name="bash", text=result)
        messages.append(ToolMessage(results=(done,)))
    return messages


@pytest.fixture(scope="module")
def demo() -> Playbook:
    return parse_playbook(DEMO, "demo.yaml")


@pytest.mark.parametrize(
    ("first", "turns", "said"),
    [
        (opening("developer", "parse-dates"), 0, "I look first."),
        (opening("developer", "parse-dates", 2), 0, "any attempt"),
        (opening("developer", "parse-dates", 2), 2, "any attempt, third"),
        (opening("developer", "parse-dates", 3), 1, "only here"),
        (opening("developer", "parse-dates", 3), 2, "any attempt, third"),
        (opening("developer", "parse-times"), 0, "by glob"),
        (opening("reviewer", "parse-dates"), 0, "first"),
        (opening("reviewer", "parse-dates"), 3, "again"),
        (opening("reviewer", "parse-dates", turn=2), 1, "again"),
    ],
)
def test_the_narrowest_scene_answers(
    demo: Playbook, first: UserMessage, turns: int, said: str
) -> None:
    assert answer(demo, after(first, turns)).text == said


def test_calls_usage_and_stop_have_their_defaults(demo: Playbook) -> None:
    spoken = answer(demo, [opening("developer", "parse-dates")])
    assert spoken.calls == (ScriptedCall(name="bash", arguments={"command": "ls"}),)
    assert spoken.stop == "tool_calls"
    assert spoken.usage == Usage(input_tokens=1200, output_tokens=150)
    assert spoken.latency_s == 0


def test_a_turn_overrides_part_of_the_usage(demo: Playbook) -> None:
    spoken = answer(demo, [opening("reviewer")])
    assert spoken.usage == Usage(input_tokens=1200, output_tokens=7)
    assert (spoken.stop, spoken.latency_s) == ("end", 0.5)


def test_a_play_that_ran_out_does_not_fall_through_to_a_broader_scene(demo: Playbook) -> None:
    with pytest.raises(PlaybookGapError) as caught:
        answer(demo, after(opening("developer", "parse-dates"), 2))
    assert "role 'developer', task 'parse-dates', attempt 1, turn 3" in str(caught.value)
    assert "role developer, task 'parse-dates', attempt 1, turns 1-2" in str(caught.value)
    assert "role reviewer, turns 1-5" in str(caught.value)


@pytest.mark.parametrize("role", ["planner", "nobody"])
def test_a_role_without_a_scene_is_a_gap(demo: Playbook, role: str) -> None:
    with pytest.raises(PlaybookGapError, match="no answer for role"):
        answer(demo, [opening(role)])


def test_an_expectation_holds_or_the_playbook_strayed(demo: Playbook) -> None:
    first = opening("reviewer", "x")
    assert answer(demo, after(first, 4, "ok, all fine")).stop == "refusal"
    with pytest.raises(PlaybookStrayedError, match=r"turn 5 .* expects 'fine' .* begins 'ok only'"):
        answer(demo, after(first, 4, "ok only"))


def test_text_may_come_before_a_lasting_fault_that_has_its_place() -> None:
    text = "{text: hi, calls: [{a: {}}], chunk_latency_s: 0.5, error: {kind: stall, at: arguments}}"
    book = f"schema: 1\nname: c\nscenes: [{{role: planner, turns: [{text}]}}]"
    spoken = answer(parse_playbook(book, "c"), [opening("planner")], 99)
    assert spoken.error is not None
    assert (spoken.error.kind, spoken.error.at) == ("stall", "arguments")
    assert (spoken.text, spoken.chunk_latency_s) == ("hi", 0.5)


def test_an_error_ends_after_its_times() -> None:
    turn = "{text: hi, error: {kind: cut, times: 2}}"
    text = f"schema: 1\nname: e\nscenes: [{{role: planner, turns: [{turn}]}}]"
    book = parse_playbook(text, "e.yaml")
    messages = [opening("planner")]
    errors = [answer(book, messages, asked).error for asked in range(4)]
    assert [error.kind if error else None for error in errors] == ["cut", "cut", None, None]


def test_a_summary_is_no_turn_of_the_play(demo: Playbook) -> None:
    messages = after(opening("developer", "parse-dates"), 2)
    place = locate([*messages, UserMessage(text=COMPACTION)])
    spoken = answer(demo, [*messages, UserMessage(text=COMPACTION)])
    assert (place.turn, place.is_compaction) == (3, True)
    assert (spoken.text, spoken.calls) == (demo.compaction, ())


@pytest.mark.parametrize(
    "first",
    [
        AssistantMessage(text="Role: developer"),
        UserMessage(text="Do it.\nRole: developer"),
        UserMessage(text="Role: developer\nAttempt: one"),
        UserMessage(text="Role: developer\nTurn: -1"),
    ],
)
def test_a_conversation_without_a_header_is_refused(first: Message) -> None:
    with pytest.raises(PlaybookGapError):
        locate([first])


def test_no_conversation_is_refused() -> None:
    with pytest.raises(PlaybookGapError):
        locate([])


@given(
    task=st.from_regex(r"[a-z0-9][a-z0-9-]{0,10}", fullmatch=True),
    attempt=st.integers(1, 99),
    before=st.integers(0, 20),
    split=st.integers(0, 20),
)
def test_a_compaction_does_not_move_the_place(
    task: str, attempt: int, before: int, split: int
) -> None:
    split = min(split, before)
    whole = locate(after(opening("developer", task, attempt), before))
    compacted = locate(after(opening("developer", task, attempt, split), before - split))
    assert whole == compacted == Place("developer", task, attempt, before + 1)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("{bash: {command: ls}}", ScriptedCall(name="bash", arguments={"command": "ls"})),
        ("{submit: }", ScriptedCall(name="submit", arguments={})),
        ("{bash: 'not json'}", ScriptedCall(name="bash", arguments="not json")),
        ("{bash: [1, 2]}", ScriptedCall(name="bash", arguments=[1, 2])),
        (
            "{name: bash, arguments: {}, id: call_0}",
            ScriptedCall(name="bash", arguments={}, id="call_0"),
        ),
        ("{name: {a: 1}}", ScriptedCall(name="name", arguments={"a": 1})),
    ],
)
def test_a_call_is_written_short_or_long(call: str, expected: ScriptedCall) -> None:
    text = f"schema: 1\nname: c\nscenes: [{{role: planner, turns: [{{calls: [{call}]}}]}}]"
    assert answer(parse_playbook(text, "c"), [opening("planner")]).calls == (expected,)


@pytest.mark.parametrize(
    ("turn", "complaint"),
    [
        ("{}", "a turn needs `text`, `calls`, `stop` or an `error` without `times`"),
        ("{error: {kind: cut, times: 1}}", "a turn needs `text`"),
        ("{text: x, error: {kind: cut}}", "an error without `times` never lets"),
        ("{calls: [{a: {}, b: {}}]}", "p.yaml:5:25: scenes.0.turns.0.calls.0: a call names one"),
        ("{calls: [ls]}", "a call is written {tool: {argument: value}}"),
        ("{text: x, latency: 3}", "unknown key 'latency'; did you mean 'latency_s'?"),
        ("{error: {kind: cut, at: text}}", "an error `at: text` needs text in which it can come"),
        (
            "{text: x, error: {kind: cut, at: arguments}}",
            "an error `at: arguments` needs",
        ),
        ("{text: x, error: {kind: cut, at: middle}}", "scenes.0.turns.0.error.at: must be"),
        ("{error: {kind: boom}}", "p.yaml:5:25: scenes.0.turns.0.error.kind: must be"),
    ],
)
def test_a_wrong_turn_is_refused_with_its_line(turn: str, complaint: str) -> None:
    text = f"schema: 1\nname: p\nscenes:\n- role: planner\n  turns: [     {turn}]\n"
    with pytest.raises(DocumentError) as caught:
        parse_playbook(text, "p.yaml")
    assert complaint in str(caught.value)


def test_another_version_is_refused() -> None:
    with pytest.raises(DocumentError, match=r"p\.yaml:1:1: schema: "):
        parse_playbook(
            "schema: 2\nname: p\nscenes: [{role: planner, turns: [{text: a}]}]", "p.yaml"
        )


def test_bytes_that_are_no_text_are_told_with_their_place(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_bytes(b"schema: 1\nname: \xfc\n")
    with pytest.raises(DocumentError, match=r"p\.yaml:2:7: not UTF-8; save the file as UTF-8"):
        read_playbook(file)
    file.write_bytes(b"\xef\xbb\xbf" + DEMO.encode())
    assert read_playbook(file) == parse_playbook(DEMO, "p")


def test_a_file_that_no_play_needs_is_refused_unread(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    with file.open("wb") as opened:
        opened.truncate(MAX_PLAYBOOK_BYTES + 1)  # a hole: nothing is written
    with pytest.raises(DocumentError, match=r"p\.yaml:1:1: over 16,000,000 bytes; shorten it"):
        read_playbook(file)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("x: " + "[" * 300 + "]" * 300, r"nested deeper than 200; write it flatter|too deep"),
        (
            r'scenes: [{role: planner, turns: [{calls: [{a: {}, "\ud800": {}}]}]}]',
            r"half of a character",
        ),
        ("prices: {input_usd: '1E+99999999'}", r"prices.input_usd: must be at most 1000000"),
    ],
)
def test_an_absurd_value_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(DocumentError, match=complaint):
        parse_playbook(text, "p.yaml")


@given(
    yaml_texts(
        "schema: 1", "schema", "name", "usage", "prices", "scenes", "role", "developer", "task",
        "attempt", "turn", "turns", "text", "calls", "bash", "command", "error", "kind", "times",
        "latency_s", "expect", "stop", "repeat", "input_tokens",
    )
)  # fmt: skip
def test_any_text_is_a_playbook_or_a_complaint(text: str) -> None:
    outcome: str | Playbook
    try:
        outcome = parse_playbook(text, "p.yaml")
    except DocumentError as error:
        outcome = str(error)
    assert isinstance(outcome, Playbook) or outcome.startswith("p.yaml:")


@given(
    st.dictionaries(
        st.sampled_from(list(ScriptedTurn.model_fields)),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(["cut", "end"]),
            lambda inner: (
                st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=2)
            ),
            max_leaves=5,
        ),
    )
)
def test_any_turn_is_one_or_a_complaint(turn: dict[str, object]) -> None:
    text = json.dumps(
        {"schema": 1, "name": "x", "scenes": [{"role": "developer", "turns": [turn]}]}
    )
    outcome: str | Playbook
    try:
        outcome = parse_playbook(text, "p.yaml")
    except DocumentError as error:
        outcome = str(error)
    assert isinstance(outcome, Playbook) or outcome.startswith("p.yaml:1:")
