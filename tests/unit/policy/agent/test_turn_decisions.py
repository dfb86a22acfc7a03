"""The agent loop's decisions, as tables."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.policy.examples import a_model
from workflows.domain.agent.agent_values import AgentEnd, AgentLimits, AgentState
from workflows.domain.agent.messages import ToolCall, ToolResult
from workflows.domain.agent.model_values import Role
from workflows.domain.budget import Bill
from workflows.domain.ids import Digest, Tree
from workflows.policy.agent import turn_decisions as policy

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
OUTPUT = 16_000
LIMITS = AgentLimits(turns=10, wall=timedelta(minutes=10), usd=Decimal(1))


def state(**facts: Any) -> AgentState:
    return AgentState.model_validate({"checkpoint": "c", "started_at": NOON, **facts})


def call(name: str, malformed: str | None = None, **arguments: Any) -> ToolCall:
    return ToolCall(id=name, name=name, arguments=arguments, malformed=malformed)


def move(
    *calls: ToolCall, stop: str = "tool_calls", reminders: int = 0, role: Role = Role.DEVELOPER
):
    answer = policy.Answer.model_validate({"stop": stop, "tool_calls": calls})
    return policy.next_move(role, answer, reminders)


A, B, SUBMIT = call("bash"), call("read"), call("submit")


@pytest.mark.parametrize(
    ("calls", "run", "submitted", "again"),
    [
        ([A, B], [A, B], None, []),
        ([SUBMIT], [], SUBMIT, []),
        ([A, SUBMIT], [A], SUBMIT, []),
        ([SUBMIT, A], [A], SUBMIT, []),
        ([A, SUBMIT, B, SUBMIT], [A, B], SUBMIT, [SUBMIT]),
        ([call("submit", "[")], [call("submit", "[")], None, []),
        ([SUBMIT, call("submit", "[")], [call("submit", "[")], SUBMIT, []),
        ([call("submit_plan")], [call("submit_plan")], None, []),
    ],
)
def test_all_other_calls_run_and_the_first_readable_submission_is_judged(
    calls: list[ToolCall], run: list[ToolCall], submitted: ToolCall | None, again: list[ToolCall]
) -> None:
    """Field report G01: calls behind a submission were dropped."""
    found = move(*calls)
    assert (list(found.run), found.submitted, list(found.again)) == (run, submitted, again)


NO, YES = call("submit_verdict", approve=False), call("submit_verdict", approve=True)
TEXT = call("submit_verdict", approve="false")


@pytest.mark.parametrize(
    ("calls", "is_contradiction"),
    [
        ([YES], False),
        ([YES, YES], False),
        ([YES, NO], True),
        ([NO, A, YES], True),
        ([YES, YES, NO], True),
        ([YES, TEXT], True),
        ([YES, call("submit_verdict", "[", approve=False)], False),
        ([YES, call("submit", approve=False)], False),
    ],
)
def test_verdicts_that_contradict_each_other_are_not_accepted(
    calls: list[ToolCall], is_contradiction: bool
) -> None:
    """Field report G09."""
    found = move(*calls, role=Role.REVIEWER)
    assert (found.submitted, bool(found.fault)) == (calls[0], is_contradiction)


@pytest.mark.parametrize(
    ("role", "name"), [(Role.DEVELOPER, "submit"), (Role.PLANNER, "submit_plan")]
)
def test_no_role_submits_two_things_at_once(role: Role, name: str) -> None:
    found = move(call(name, summary="1"), call(name, summary="2"), role=role)
    assert f"call `{name}` once" in found.fault


@pytest.mark.parametrize(
    ("failed", "words"),
    [
        ((), ""),
        (("edit",), "not counted: `edit` failed"),
        (("bash", "write", "bash"), "not counted: `bash`, `write` failed"),
    ],
)
def test_a_submission_counts_only_if_every_other_call_succeeded(
    failed: tuple[str, ...], words: str
) -> None:
    """Field report G01."""
    found = policy.not_counted(SUBMIT, failed, has_asked=False)
    assert words in found
    assert bool(found) == bool(failed)


def test_a_submission_waits_for_the_answer_to_a_question_of_its_turn() -> None:
    assert "asked a question" in policy.not_counted(SUBMIT, (), has_asked=True)


@pytest.mark.parametrize(
    ("calls", "stop", "words"),
    [
        ([A, SUBMIT], "tool_calls", ""),
        ([A, SUBMIT], "end", ""),
        ([SUBMIT], "truncated", "cut after this call"),
        ([SUBMIT], "malformed", "cut after this call"),
    ],
)
def test_a_submission_waits_for_the_rest_of_a_cut_answer(
    calls: list[ToolCall], stop: str, words: str
) -> None:
    found = move(*calls, stop=stop)
    assert words in found.not_yet
    assert bool(found.not_yet) == bool(words)


@pytest.mark.parametrize(
    ("role", "name"),
    [
        (Role.PLANNER, "submit_plan"),
        (Role.DEVELOPER, "submit"),
        (Role.REVIEWER, "submit_verdict"),
    ],
)
def test_each_role_submits_by_its_own_tool(role: Role, name: str) -> None:
    assert move(call(name), role=role).submitted == call(name)
    assert f"`{name}`" in move(stop="end", role=role).text


@pytest.mark.parametrize(
    ("stop", "reminders", "end"),
    [
        ("refusal", 0, AgentEnd.REFUSAL),
        ("end", 0, None),
        ("end", 1, None),
        ("end", 2, AgentEnd.SILENCE),
        ("truncated", 2, AgentEnd.SILENCE),
        ("malformed", 2, AgentEnd.SILENCE),
        ("pause", 2, AgentEnd.SILENCE),
    ],
)
def test_an_answer_without_calls(stop: str, reminders: int, end: AgentEnd | None) -> None:
    found = move(stop=stop, reminders=reminders)
    assert found.end == end
    assert found.kind == ("end" if end else "remind")


def test_a_refusal_ends_it_although_it_called_a_tool() -> None:
    assert move(A, stop="refusal").end is AgentEnd.REFUSAL


@pytest.mark.parametrize(
    ("turn", "minutes", "paused", "end"),
    [
        (0, 0, 0, None),
        (9, 9.9, 0, None),
        (10, 0, 0, AgentEnd.TURN_LIMIT),
        (10, 99, 0, AgentEnd.TURN_LIMIT),
        (0, 10, 0, AgentEnd.TIME_LIMIT),
        (0, 70, 61, None),
    ],
)
def test_limits(turn: int, minutes: float, paused: float, end: AgentEnd | None) -> None:
    now = NOON + timedelta(minutes=minutes)
    stands = state(turn=turn, paused=timedelta(minutes=paused))
    assert policy.limit_reached(stands, LIMITS, now) == end


@pytest.mark.parametrize(
    ("turn", "minutes", "usd", "is_due"),
    [
        (7, 7.9, "0.79", False),
        (8, 0, "0", True),
        (0, 8, "0", True),
        (0, 0, "0.80", True),
    ],
)
def test_wrap_up_at_80_percent_of_any_limit(
    turn: int, minutes: float, usd: str, is_due: bool
) -> None:
    now = NOON + timedelta(minutes=minutes)
    stands = state(turn=turn, bill=Bill(usd=Decimal(usd)))
    assert policy.is_wrap_up_due(stands, LIMITS, now) is is_due
    told = stands.model_copy(update={"is_warned": True})
    assert not policy.is_wrap_up_due(told, LIMITS, now)


def test_a_limit_of_zero_usd_does_not_ask_to_wrap_up() -> None:
    free = LIMITS.model_copy(update={"usd": Decimal(0)})
    assert not policy.is_wrap_up_due(state(), free, NOON)


@pytest.mark.parametrize(
    ("turns", "turn", "is_due"), [(1, 0, True), (2, 0, False), (2, 1, True), (3, 2, True)]
)
def test_the_last_turn_is_never_without_a_wrap_up(turns: int, turn: int, is_due: bool) -> None:
    few = AgentLimits(turns=turns, wall=timedelta(minutes=10), usd=Decimal(1))
    assert policy.is_wrap_up_due(state(turn=turn), few, NOON) is is_due


@pytest.mark.parametrize(
    ("spent", "granted", "cap_left", "is_last"),
    [
        ("0", "0", None, False),
        ("0.4", "1", None, False),
        ("0.41", "1", None, True),
        ("0", "0.3", "0.3", False),
        ("0", "0.3", "0.29", True),
        ("0.4", "0.5", "9", False),
        ("0.41", "0.5", "9", True),
    ],
)
def test_the_last_call_that_is_sure_of_its_money(
    spent: str, granted: str, cap_left: str | None, is_last: bool
) -> None:
    """Of a limit of $1, where the next call may cost 20 cents and the one after it 40."""
    stands = state(bill=Bill(usd=Decimal(spent)), granted_usd=granted, cap_left_usd=cap_left)
    found = policy.is_last_call(stands, LIMITS, Decimal("0.2"), Decimal("0.4"))
    assert found is is_last
    assert policy.is_wrap_up_due(stands, LIMITS, NOON, is_last_call=found) is is_last


def test_free_calls_have_no_last_one() -> None:
    free = LIMITS.model_copy(update={"usd": Decimal(0)})
    assert not policy.is_last_call(state(), free, Decimal(0), Decimal(0))


@pytest.mark.parametrize(
    ("minutes", "progressed", "paused", "is_told", "end"),
    [
        (3.9, 0, 0, False, None),
        (4, 0, 0, True, None),
        (5, 0, 0, True, AgentEnd.STUCK),
        (8.9, 5, 0, False, None),
        (9, 5, 0, True, None),
        (9, 0, 5, True, None),
        (10, 9, 0, False, AgentEnd.TIME_LIMIT),
    ],
)
def test_progress_extends_and_silence_does_not(
    minutes: float, progressed: float, paused: float, is_told: bool, end: AgentEnd | None
) -> None:
    """Within 10 minutes in all, of which 5 may go without progress."""
    limits = LIMITS.model_copy(update={"stall": timedelta(minutes=5)})
    stands = state(progressed=timedelta(minutes=progressed), paused=timedelta(minutes=paused))
    now = NOON + timedelta(minutes=minutes)
    assert policy.limit_reached(stands, limits, now) == end
    assert policy.is_stall_told_due(stands, limits, now) is is_told
    told = stands.model_copy(update={"is_stall_told": True})
    assert not policy.is_stall_told_due(told, limits, now)
    assert not policy.is_stall_told_due(stands, LIMITS, now)


@pytest.mark.parametrize(
    ("role", "after", "is_repeated", "is_progress"),
    [
        (Role.DEVELOPER, "t", False, False),
        (Role.DEVELOPER, "u", False, True),
        (Role.DEVELOPER, "u", True, True),
        (Role.REVIEWER, "t", False, True),
        (Role.REVIEWER, "t", True, False),
        (Role.PLANNER, "t", False, True),
        (Role.PLANNER, "t", True, False),
    ],
)
def test_progress_is_another_tree_or_for_readers_something_new(
    role: Role, after: str, is_repeated: bool, is_progress: bool
) -> None:
    found = policy.is_progress(role, Tree("t"), Tree(after), is_repeated=is_repeated)
    assert found is is_progress


def test_stuck_is_three_equal_fingerprints_in_a_row() -> None:
    a, b = Digest("a"), Digest("b")
    assert policy.is_stuck((a, a, a))
    assert policy.is_stuck((b, a, a, a))
    assert not policy.is_stuck((a, a))
    assert not policy.is_stuck((a, b, a))
    assert not policy.is_stuck((a, a, a, b))


def test_a_repetition_is_told_before_it_is_stuck() -> None:
    a, b = Digest("a"), Digest("b")
    assert [policy.is_repetition(each) for each in ((a,), (a, a), (a, b), (b, a, a))] == [
        False,
        True,
        False,
        True,
    ]


def test_a_fingerprint_depends_on_calls_results_and_tree_and_not_on_ids() -> None:
    result = ToolResult(call_id="1", name="bash", text="out")
    base = policy.fingerprint([call("bash", command="x")], [result], "t")
    other_id = ToolCall(id="other", name="bash", arguments={"command": "x"})
    assert policy.fingerprint([other_id], [result], "t") == base
    for changed in (
        policy.fingerprint([call("bash", command="y")], [result], "t"),
        policy.fingerprint([call("bash", command="x")], [result], "t", "pkg"),
        policy.fingerprint([call("bash", "[", command="x")], [result], "t"),
        policy.fingerprint([call("bash", command="x")], [result], "u"),
        policy.fingerprint(
            [call("bash", command="x")], [result.model_copy(update={"text": "new"})], "t"
        ),
    ):
        assert changed != base


@pytest.mark.parametrize(
    ("tokens", "pending", "is_due"), [(78_000, 0, False), (78_300, 0, True), (70_000, 30_000, True)]
)
def test_compaction_near_the_window(tokens: int, pending: int, is_due: bool) -> None:
    model = a_model("x")  # 100,000 tokens, of which 8,000 are kept for the answer
    stands = state(prefix="p", prompt_tokens=tokens)
    assert policy.is_compaction_due(stands, model, pending, OUTPUT) is is_due
    assert not policy.is_compaction_due(
        stands.model_copy(update={"is_compacted": True}), model, pending, OUTPUT
    )
    assert not policy.is_compaction_due(
        stands.model_copy(update={"prefix": None}), model, pending, OUTPUT
    )


@pytest.mark.parametrize(
    ("window", "first", "is_useless"),
    [(8_000, 1_400, False), (8_000, 1_401, True), (200_000, 60_000, False)],
)
def test_a_compaction_frees_at_least_half_of_the_window(
    window: int, first: int, is_useless: bool
) -> None:
    """Field report G10."""
    model = a_model("x").model_copy(update={"window_tokens": window})
    stands = state(first_prompt_tokens=first)
    assert policy.frees_too_little(stands, model, OUTPUT) is is_useless


@pytest.mark.parametrize(("window", "is_small"), [(4_000, True), (8_000, False)])
def test_a_window_holds_prompt_tools_and_an_answer(window: int, is_small: bool) -> None:
    """Field report G10."""
    model = a_model("x").model_copy(update={"window_tokens": window})
    assert policy.is_window_too_small(model, 3_000, OUTPUT) is is_small


@given(st.text(), st.integers(0, 10**6))
def test_a_prompt_never_has_more_tokens_than_quoted(text: str, before: int) -> None:
    """A token is at least one byte, and what the provider has counted it counts again."""
    size = len(text.encode())
    assert policy.most_prompt_tokens(state(prompt_tokens=before, prefix="p"), size) >= before + size
    assert policy.most_prompt_tokens(state(), size) >= size + policy.FIXED_BYTES


@pytest.mark.parametrize(("limit", "longest"), [(16_000, 8_000), (4_000, 4_000)])
def test_an_answer_is_as_long_as_the_agent_and_the_model_allow(limit: int, longest: int) -> None:
    assert policy.max_output_tokens(a_model("x"), limit) == longest
