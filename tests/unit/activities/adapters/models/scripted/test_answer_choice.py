"""Scenes are found by role, task, attempt and turn, and a playbook never strays silently."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.adapters.models.scripted.answer_choice import (
    Place,
    PlaybookGapError,
    PlaybookStrayedError,
    answer,
    locate,
)
from activities.adapters.models.scripted.playbook import Playbook, ScriptedCall, parse_playbook
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


def test_the_header_may_follow_words_of_the_client() -> None:
    client, person = UserMessage(text="<context>\n"), UserMessage(text="Role: planner\n\nPlan.")
    assert locate([client, person]).role == "planner"


def test_a_header_after_the_first_answer_counts_for_nothing() -> None:
    late = UserMessage(text="Hi."), AssistantMessage(text="Hm."), UserMessage(text="Role: planner")
    with pytest.raises(PlaybookGapError):
        locate(late)


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
