"""Turns that no one thought of, in every dialect, streamed and not: a turn is one whole.

An answer is worded by the simulator's dialect, cut into its stream, put together and read again as
a provider's answer is; the policy decides; and what is sent back passes the simulators' checks,
also those of the other dialects, because a route may change.
"""

import dataclasses
import json
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from activities.adapters.models.dialects import (
    anthropic_messages,
    chat_completions,
    gemini_content,
    openai_responses,
)
from activities.adapters.models.dialects.anthropic_stream import MessageAssembly
from activities.adapters.models.dialects.chat_stream import ChatAssembly
from activities.adapters.models.dialects.neutral_messages import check_conversation
from activities.adapters.models.scripted.answer_choice import Place, ScriptedAnswer
from activities.adapters.models.scripted.playbook import ScriptedCall
from activities.adapters.models.simulator.chat_dialect import ChatDialect
from activities.adapters.models.simulator.dialect import Dialect, WireRequest
from activities.adapters.models.simulator.gemini_dialect import GeminiDialect
from activities.adapters.models.simulator.messages_dialect import AnthropicDialect
from activities.adapters.models.simulator.responses_dialect import OpenAIDialect
from activities.adapters.models.simulator.stream_events import FRAMES
from activities.adapters.models.streams import Assembly
from activities.ports.endpoints import Abilities
from activities.ports.model_provider import ModelReply, ModelRequest, OutcomeUnknownError, Stop
from tests.unit.activities.adapters.models.wire import ask
from workflows.domain.agent.messages import (
    Message,
    ToolCall,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from workflows.domain.agent.model_values import Role, Usage
from workflows.policy.agent import submission_check
from workflows.policy.agent import turn_decisions as policy
from workflows.policy.money.call_cost import charged, cost_usd

ABLE = Abilities(reasoning_replay=True)
SEARCH = settings.get_current_profile_name() == "fuzz"
PARTS = 5 if SEARCH else 1
pytestmark = pytest.mark.fuzz
CASES = settings(
    max_examples=20_000 if SEARCH else 500, suppress_health_check=[HealthCheck.too_slow]
)


@dataclasses.dataclass(frozen=True)
class Wire:
    """One dialect: both of its sides."""

    provider: str
    server: Dialect
    frames: str
    assembly: Callable[[], Assembly]
    send: Callable[[ModelRequest], dict[str, Any]]
    read: Callable[[ModelRequest, dict[str, Any]], ModelReply]


WIRES = [
    Wire(
        "anthropic",
        AnthropicDialect(),
        "anthropic",
        MessageAssembly,
        anthropic_messages.wire_request,
        anthropic_messages.read_reply,
    ),
    Wire(
        "openai",
        OpenAIDialect(),
        "openai",
        openai_responses.ResponseAssembly,
        openai_responses.wire_request,
        openai_responses.read_reply,
    ),
    Wire(
        "local",
        ChatDialect(),
        "chat",
        ChatAssembly,
        lambda request: chat_completions.wire_request(request, ABLE),
        lambda request, body: chat_completions.read_reply(request, body, ABLE),
    ),
    Wire(
        "google",
        GeminiDialect(),
        "gemini",
        gemini_content.ContentAssembly,
        gemini_content.wire_request,
        gemini_content.read_reply,
    ),
]

GOOD, BAD = {"command": "true"}, {"command": "false"}
ARGUMENTS: st.SearchStrategy[Any] = st.sampled_from(
    [
        GOOD,
        GOOD,
        BAD,
        {"command": "git push"},
        '{"command": "true"}',
        '{"command": "a\n\tb"}',
        '{"command": "true"}{"command": "true"}',
        '{"command": "true"}}',
        '{"command": "tr',
        "",
        "[]",
        "null",
        {},
        {"command": "\ud83d"},
        {"command": {"deep": [1, None, True]}},
    ]
)
IDS = st.sampled_from([None, None, None, "same", "", "a b", "x" * 41, "x" * 65, "\u00e9"])
NAMES = st.sampled_from(
    [
        "bash",
        "bash",
        "edit",
        "functions.bash",
        "9x",
        "b c",
        "x" * 99,
        "\u00e9",
        "submit_plan",
        "submit",
        "-",
    ]
)
_PLANS = [
    {
        "tasks": [
            {
                "id": each,
                "title": "t",
                "description": "d",
                "acceptance_criteria": ["done"],
                "claims": [each],
            }
        ]
    }
    for each in "ab"
]
_VERDICTS = [{"verdict": each, "notes": ""} for each in ("pass", "fail")]
SUBMITTED: dict[Role, list[dict[str, Any]]] = {
    Role.PLANNER: _PLANS,
    Role.DEVELOPER: [{"summary": "a"}, {"summary": "b"}],
    Role.REVIEWER: _VERDICTS,
}
"""Two good submissions of each role, which contradict each other."""


def calls_of(role: Role) -> st.SearchStrategy[ScriptedCall]:
    """Draw a call of a tool, or a submission: of this role or, wrongly, of another."""
    one, other = SUBMITTED[role]
    said = json.dumps(one)
    given: st.SearchStrategy[Any] = st.sampled_from([one, one, other, {}, said[:-1], said])
    own = st.builds(ScriptedCall, name=st.just(policy.SUBMITTING[role]), arguments=given, id=IDS)
    tool = st.builds(ScriptedCall, name=NAMES, arguments=ARGUMENTS, id=IDS)
    return st.one_of(tool, own)


STOPS: st.SearchStrategy[Stop] = st.sampled_from(
    ["end", "tool_calls", "tool_calls", "truncated", "refusal", "pause", "malformed", "unknown"]
)
COUNTS = st.integers(0, 10_000)
TEXTS = st.sampled_from(["", " ", "I look.", "\ud83d", "\x00"])


def answers_of(role: Role) -> st.SearchStrategy[ScriptedAnswer]:
    """Draw one answer to an agent of this role."""
    return st.builds(
        ScriptedAnswer,
        text=TEXTS,
        calls=st.lists(calls_of(role), max_size=5).map(tuple),
        stop=STOPS,
        usage=st.builds(Usage, input_tokens=COUNTS, output_tokens=COUNTS),
        latency_s=st.just(0.0),
        chunk_latency_s=st.just(0.0),
        error=st.none(),
    )


CONVERSATIONS = st.sampled_from(Role).flatmap(
    lambda role: st.tuples(st.just(role), st.lists(answers_of(role), min_size=1, max_size=3))
)
COUNTED = st.sampled_from(["as spoken", "as spoken", "not at all", "below zero"])
"""How the provider counts."""
QUOTE = Decimal("0.5")


class Play:
    """One agent's turns, as its workflow plays them."""

    def __init__(self, wire: Wire, role: Role) -> None:
        self.wire = wire
        self.role = role
        self.messages: tuple[Message, ...] = (UserMessage(text=f"Role: {role}\n\nDo it."),)
        self.turn = 0
        self.ran: Counter[str] = Counter()
        self.is_over = False

    def hear(
        self, spoken: ScriptedAnswer, counted: str, *, streamed: bool, glued: bool
    ) -> ModelReply | None:
        """Return the answer as it is read; None: its outcome is unknown, so it costs its quote."""
        self.turn += 1
        place = Place(self.role, None, 1, self.turn)
        body = self.wire.server.render(spoken, place, WireRequest("simulated-1", (), ()))
        request = ask(self.wire.provider, *self.messages)
        _miscount(body, counted)
        try:
            if streamed:
                body = self._streamed(body, glued=glued)
            return self.wire.read(request, body)
        except OutcomeUnknownError:
            return None

    def _streamed(self, body: dict[str, Any], *, glued: bool) -> dict[str, Any]:
        assembly = self.wire.assembly()
        for frame in FRAMES[self.wire.frames](body):
            if glued:
                _glue(frame.data)
            assembly.take(frame.data)
            if assembly.is_whole:
                return assembly.body()
        raise OutcomeUnknownError("cut")

    def act(self, reply: ModelReply) -> None:
        """Do what the policy decides, and check that the turn is one whole."""
        calls = reply.message.tool_calls
        answer = policy.Answer(stop=reply.stop, tool_calls=calls)
        move = policy.next_move(self.role, answer, 0)
        self.messages += (reply.message,)
        if move.kind == "end":
            assert reply.stop == "refusal"
            self.is_over = True
            return
        if move.kind == "remind":
            assert not calls
            self.messages += (UserMessage(text=move.text),)
            return
        results = {call.id: self._run(call) for call in move.run}
        failed = [each.name for each in results.values() if each.is_error]
        if move.submitted is not None:
            fault = self._submission_fault(move, failed)
            if not fault:
                self._check_clean(reply, failed)
                self.is_over = True
                return
            results[move.submitted.id] = _result(move.submitted, fault, is_error=True)
        for call in move.again:
            assert call.id not in results
            results[call.id] = policy.said_twice(call)
        assert sorted(results) == sorted(call.id for call in calls)
        assert max(self.ran.values(), default=0) <= 1
        in_order = tuple(results[call.id] for call in calls)
        self.messages += (ToolMessage(results=in_order),)

    def _run(self, call: ToolCall) -> ToolResult:
        if call.malformed is not None:
            assert call.fault
            return _result(call, call.fault, is_error=True)
        self.ran[call.id] += 1
        is_good = call.name == "bash" and call.arguments == GOOD
        return _result(call, "" if is_good else "exit code 1", is_error=not is_good)

    def _submission_fault(self, move: policy.Move, failed: list[str]) -> str | None:
        assert move.submitted is not None
        not_yet = move.not_yet or policy.not_counted(move.submitted, failed, has_asked=False)
        fault = submission_check.fault(self.role, move.submitted.arguments)
        return move.fault or not_yet or fault

    def _check_clean(self, reply: ModelReply, failed: list[str]) -> None:
        said = [
            call for call in reply.message.tool_calls if call.name == policy.SUBMITTING[self.role]
        ]
        assert failed == []
        assert all(call.malformed is None for call in reply.message.tool_calls)
        assert all(call.arguments == said[0].arguments for call in said)
        assert reply.stop not in {"truncated", "malformed", "refusal"}

    def check_history(self) -> None:
        """The conversation can be sent on, to its own provider and to any other."""
        if self.is_over:
            return
        check_conversation(self.messages)
        for wire in WIRES:
            wire.server.read(wire.send(ask(wire.provider, *self.messages)))


def _miscount(body: dict[str, Any], counted: str) -> None:
    """Take the counts of tokens away, or make them impossible."""
    if counted == "as spoken":
        return
    for name in ("usage", "usageMetadata"):
        if counted == "not at all":
            body.pop(name, None)
        elif name in body:
            body[name] = {key: -1 for key, n in body[name].items() if isinstance(n, int)}


def _glue(event: dict[str, Any]) -> None:
    """Give all calls of a Chat Completions stream one number and no id, as some servers do."""
    for choice in event.get("choices") or ():
        for call in choice.get("delta", {}).get("tool_calls") or ():
            call["index"] = 0
            call.pop("id", None)


def _result(call: ToolCall, text: str, *, is_error: bool) -> ToolResult:
    return ToolResult(call_id=call.id, name=call.name, text=text, is_error=is_error)


@pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.provider)
@pytest.mark.parametrize("part", range(PARTS))
@settings(CASES, max_examples=CASES.max_examples // len(WIRES) // PARTS)
@given(
    conversation=CONVERSATIONS,
    counted=COUNTED,
    way=st.sampled_from(["whole", "streamed", "glued"]),
)
def test_a_turn_is_one_whole(
    wire: Wire,
    part: int,
    conversation: tuple[Role, list[ScriptedAnswer]],
    counted: str,
    way: str,
) -> None:
    del part  # only so that each search ends within the time of a test
    role, answers = conversation
    play = Play(wire, role)
    for spoken in answers:
        is_glued = way == "glued" and wire.frames == "chat"
        reply = play.hear(spoken, counted, streamed=way != "whole", glued=is_glued)
        if reply is None:
            continue
        assert reply.cost_usd is not None
        cost = charged(reply.cost_usd, QUOTE, is_estimated=reply.usage.is_estimated)
        if counted == "as spoken":
            assert cost >= (cost_usd(ask(wire.provider).model.prices, spoken.usage) or 0)
        else:
            assert cost >= QUOTE
        play.act(reply)
        play.check_history()
        if play.is_over:
            return


@pytest.mark.parametrize("role", Role)
def test_the_submissions_that_are_tried_are_accepted_where_nothing_is_wrong(role: Role):
    for arguments in SUBMITTED[role]:
        assert submission_check.fault(role, arguments) is None
