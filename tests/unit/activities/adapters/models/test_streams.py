"""Events put together: the same answer as without a stream, or a named fault, never a part."""

import asyncio
import copy
import json
from collections.abc import AsyncIterator, Callable
from itertools import pairwise
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from activities.adapters.models.dialects.anthropic_stream import MessageAssembly
from activities.adapters.models.dialects.chat_stream import END, ChatAssembly, announced
from activities.adapters.models.dialects.gemini_content import ContentAssembly
from activities.adapters.models.dialects.openai_responses import ResponseAssembly
from activities.adapters.models.scripted.answer_choice import answer, locate
from activities.adapters.models.simulator.chat_dialect import ChatDialect
from activities.adapters.models.simulator.dialect import Dialect, WireRequest
from activities.adapters.models.simulator.gemini_dialect import GeminiDialect
from activities.adapters.models.simulator.messages_dialect import AnthropicDialect
from activities.adapters.models.simulator.responses_dialect import OpenAIDialect
from activities.adapters.models.simulator.stream_events import FRAMES
from activities.adapters.models.streams import Assembly, lively, whole
from activities.ports.model_provider import (
    AuthenticationFailedError,
    ModelError,
    OutcomeUnknownError,
    PromptBlockedError,
    ProviderUnavailableError,
    RateLimitedError,
)
from activities.text.redaction import KnownSecrets
from tests.unit.activities.adapters.models.wire import OPENING, play

DIALECTS: list[tuple[Dialect, Callable[[], Assembly]]] = [
    (AnthropicDialect(), MessageAssembly),
    (OpenAIDialect(), ResponseAssembly),
    (ChatDialect(), ChatAssembly),
    (GeminiDialect(), ContentAssembly),
]

CALLS = "[{bash: {command: 'é 😀', n: 1.5e3, deep: [[{}]]}}, {submit: {}}]"
TURNS = [
    "{text: Hello there.}",
    "{text: x}",
    "{text: '  spaced  ', calls: [{bash: {}}]}",
    f"{{text: I look., calls: {CALLS}}}",
    f"{{calls: {CALLS}}}",
    "{text: no, stop: refusal}",
    "{text: so far, stop: truncated}",
    r'{text: "a \ud83d b"}',
]


async def given(*events: Any, then: Exception | None = None) -> AsyncIterator[Any]:
    for event in events:
        yield event
    if then is not None:
        raise then


def nothing_known(_: Exception) -> ModelError | None:
    return None


async def assembled(events: AsyncIterator[Any], assembly: Assembly) -> Any:
    """Return the answer, without types so that a test may reach into it."""
    return await whole(events, assembly, nothing_known)


@pytest.mark.parametrize(
    ("dialect", "assembly"), DIALECTS, ids=lambda value: getattr(value, "name", "")
)
@pytest.mark.parametrize("turn", TURNS)
async def test_the_events_hold_what_the_answer_holds_without_a_stream(
    dialect: Dialect, assembly: Callable[[], Assembly], turn: str
) -> None:
    spoken = answer(play(turn), [OPENING])
    request = WireRequest("simulated-1", [OPENING], ())
    body = dialect.render(spoken, locate([OPENING]), request) | {"simulated": True}
    events = [frame.data for frame in FRAMES[dialect.name](body)]
    assert await whole(given(*events), assembly(), nothing_known) == body


START: dict[str, Any] = {"type": "message_start", "message": {"usage": {"input_tokens": 3}}}
TEXT = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
PIECE = {
    "type": "content_block_delta",
    "index": 0,
    "delta": {"type": "text_delta", "text": "rm -rf"},
}
ENDED = {"type": "content_block_stop", "index": 0}
STOPPED = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {}}
LAST = {"type": "message_stop"}
BEGUN: dict[str, Any] = {"type": "response.output_item.added", "item": {"type": "message"}}
PART: dict[str, Any] = {"candidates": [{"content": {"parts": [{"text": "rm -rf"}]}}]}
CHUNK: dict[str, Any] = {"choices": [{"delta": {"content": "rm -rf"}, "finish_reason": None}]}
FINISHED: dict[str, Any] = {"choices": [{"delta": {}, "finish_reason": "stop"}]}
COUNTED: dict[str, Any] = {"choices": [], "usage": {"prompt_tokens": 3}}
OVERLOADED = ProviderUnavailableError("overloaded")

FAULTS: list[tuple[Assembly, list[Any]]] = [
    (MessageAssembly(), []),
    (MessageAssembly(), [START, TEXT, PIECE, ENDED, STOPPED]),
    (MessageAssembly(), [START, TEXT, PIECE, STOPPED, LAST]),
    (MessageAssembly(), [START, PIECE, STOPPED, LAST]),
    (MessageAssembly(), [START, TEXT, ENDED, PIECE, STOPPED, LAST]),
    (MessageAssembly(), [None, 3, [], "message_stop"]),
    (ResponseAssembly(), []),
    (ResponseAssembly(), [BEGUN, {"type": "response.output_text.done", "text": "rm -rf"}]),
    (ResponseAssembly(), [{"type": "response.done"}]),
    (ChatAssembly(), []),
    (ChatAssembly(), [CHUNK, CHUNK]),
    (ChatAssembly(), [CHUNK, END]),
    (ChatAssembly(), [CHUNK, {"choices": [], "usage": {"prompt_tokens": 3}}, END]),
    (ContentAssembly(), []),
    (ContentAssembly(), [PART, PART]),
    (ContentAssembly(), [PART, {"usageMetadata": {"totalTokenCount": 3}}]),
]


@pytest.mark.parametrize(("assembly", "events"), FAULTS)
async def test_what_is_not_whole_is_no_answer(assembly: Assembly, events: list[Any]) -> None:
    with pytest.raises(OutcomeUnknownError):
        await whole(given(*events), assembly, nothing_known)
    assert not assembly.is_whole


@pytest.mark.parametrize(
    ("failure", "decision"),
    [
        (OVERLOADED, OutcomeUnknownError),
        (RateLimitedError("slow down", None), OutcomeUnknownError),
        # No kind that is repeated: left to the caller, who decides as outside a stream.
        (AuthenticationFailedError("revoked"), RuntimeError),
    ],
)
@pytest.mark.parametrize(
    ("make", "content"),
    [
        (MessageAssembly, TEXT),
        (ResponseAssembly, BEGUN),
        (ChatAssembly, CHUNK),
        (ContentAssembly, PART),
    ],
)
async def test_an_error_after_content_may_have_been_billed(
    make: Callable[[], Assembly], content: Any, failure: ModelError, decision: type[Exception]
) -> None:
    def classify(_: Exception) -> ModelError:
        return failure

    with pytest.raises(RuntimeError):
        await whole(given(then=RuntimeError("the SDK's")), make(), classify)
    with pytest.raises(decision):
        await whole(given(content, then=RuntimeError("the SDK's")), make(), classify)


@pytest.mark.parametrize(
    ("code", "decision"),
    [("server_error", OutcomeUnknownError), ("invalid_prompt", PromptBlockedError)],
)
async def test_a_response_that_fails_after_content(code: str, decision: type[ModelError]) -> None:
    failed = {"type": "response.failed", "response": {"status": "failed", "error": {"code": code}}}
    with pytest.raises(decision):
        await whole(given(BEGUN, failed), ResponseAssembly(), nothing_known)


async def test_what_fails_after_the_end_changes_nothing() -> None:
    events = given(START, TEXT, PIECE, ENDED, STOPPED, LAST, then=OSError("reset"))
    body = await assembled(events, MessageAssembly())
    assert body["content"] == [{"type": "text", "text": "rm -rf"}]


@pytest.mark.parametrize(
    ("following", "then", "counted"),
    [
        ([COUNTED], None, True),
        ([COUNTED], OSError("reset"), True),
        ([], None, False),
        ([], OSError("reset"), False),
    ],
)
async def test_a_completion_is_whole_with_its_finish_reason(
    following: list[Any], then: Exception | None, counted: bool
) -> None:
    assembly = ChatAssembly()
    events = announced(given(CHUNK, FINISHED, *following, then=then), assembly)
    body = await assembled(events, assembly)
    assert body["choices"][0]["message"] == {"content": "rm -rf"}
    assert ("usage" in body) is counted


def piece(call_id: str | None, arguments: str, **more: Any) -> dict[str, Any]:
    function = {"name": "bash" if call_id else None, "arguments": arguments}
    return {"id": call_id, "function": function} | more


@pytest.mark.parametrize(
    "pieces",
    [
        [piece("a", "{", index=0), piece(None, "}", index=0), piece("b", "[]", index=1)],
        # the id again with each piece
        [piece("a", "{", index=0), piece("a", "}", index=0), piece("b", "[]", index=1)],
        # one number for all
        [piece("a", "{}", index=0), piece("b", "[", index=0), piece(None, "]", index=0)],
        # no numbers
        [piece("a", "{}"), piece("b", "["), piece(None, "]")],
        # in turns
        [piece("a", "{", index=0), piece("b", "[]", index=1), piece(None, "}", index=0)],
    ],
)
async def test_calls_are_put_together_however_they_are_numbered(pieces: list[Any]) -> None:
    assembly = ChatAssembly()
    chunks = [{"choices": [{"delta": {"tool_calls": [each]}}]} for each in pieces]
    body = await assembled(given(*chunks, FINISHED, END), assembly)
    calls = body["choices"][0]["message"]["tool_calls"]
    found = [(call["id"], call["function"]["arguments"]) for call in calls]
    assert found == [("a", "{}"), ("b", "[]")]
    assert {call["function"]["name"] for call in calls} == {"bash"}


@pytest.mark.parametrize("number", [{"index": 0}, {}])
@pytest.mark.parametrize("name", ["read", "bash"])
async def test_whole_calls_that_share_a_number_and_have_no_id_are_told_apart(
    number: dict[str, int], name: str
) -> None:
    """Field report G06."""
    said = [("bash", '{"command": "ls"}'), (name, '{"path": "a"}')]
    pieces = [number | {"function": {"name": n, "arguments": text}} for n, text in said]
    chunks = [{"choices": [{"delta": {"tool_calls": [each]}}]} for each in pieces]
    body = await assembled(given(*chunks, FINISHED, END), ChatAssembly())
    calls = body["choices"][0]["message"]["tool_calls"]
    assert [(c["function"]["name"], c["function"]["arguments"]) for c in calls] == said


async def test_a_call_in_the_older_form_is_put_together() -> None:
    bits: list[Any] = [{"name": "bash", "arguments": '{"comm'}, {"arguments": 'and": "ls"}'}]
    chunks = [{"choices": [{"delta": {"function_call": bit}}]} for bit in bits]
    body = await assembled(given(*chunks, FINISHED, END), ChatAssembly())
    (call,) = body["choices"][0]["message"]["tool_calls"]
    assert call["function"] == {"name": "bash", "arguments": '{"command": "ls"}'}


async def test_blocks_that_share_a_number_are_told_apart() -> None:
    """Field report G06."""
    use: dict[str, Any] = {"type": "tool_use", "id": "t", "name": "bash", "input": {}}
    begun: Any = TEXT | {"content_block": use}
    bit = PIECE | {"delta": {"type": "input_json_delta", "partial_json": '{"command": "ls"}'}}
    events = given(START, begun, bit, begun, bit, ENDED, STOPPED, LAST)
    body = await assembled(events, MessageAssembly())
    assert [each["input"] for each in body["content"]] == [{"command": "ls"}] * 2


async def test_the_last_counts_replace_the_first_and_absent_ones_do_not() -> None:
    usage = {"output_tokens": 9, "input_tokens": None}
    stopped = STOPPED | {"usage": usage}
    body = await assembled(given(START, stopped, LAST), MessageAssembly())
    assert body["usage"] == {"input_tokens": 3, "output_tokens": 9}


async def test_arguments_that_become_no_object_stay_as_they_came() -> None:
    use: dict[str, Any] = {"type": "tool_use", "id": "t", "name": "bash", "input": {}}
    begun: Any = TEXT | {"content_block": use}
    bits = [
        PIECE | {"delta": {"type": "input_json_delta", "partial_json": bit}}
        for bit in ('{"comm', 'and": "l')
    ]
    events = given(START, begun, *bits, ENDED, STOPPED, LAST)
    body = await assembled(events, MessageAssembly())
    assert body["content"][0]["input"] == '{"command": "l'


async def test_citations_are_kept() -> None:
    cited = PIECE | {"delta": {"type": "citations_delta", "citation": {"cited_text": "a"}}}
    unknown = PIECE | {"delta": {"type": "new_delta", "new": 1}}
    events = given(START, TEXT, cited, unknown, cited, ENDED, STOPPED, LAST)
    body = await assembled(events, MessageAssembly())
    assert body["content"][0]["citations"] == [{"cited_text": "a"}, {"cited_text": "a"}]


async def test_a_signature_stays_on_the_part_on_which_it_came() -> None:
    def chunk(*parts: Any, reason: str | None = None) -> dict[str, Any]:
        return {"candidates": [{"content": {"parts": list(parts)}, "finishReason": reason}]}

    signed = {"text": "", "thoughtSignature": "c2ln"}
    events = given(
        chunk({"text": "th", "thought": True}, {"text": "ought", "thought": True}),
        chunk({"text": "a"}),
        chunk({"text": "b"}),
        chunk(signed),
        chunk({"text": "c"}, reason="STOP"),
    )
    body = await assembled(events, ContentAssembly())
    parts = body["candidates"][0]["content"]["parts"]
    assert parts == [{"text": "thought", "thought": True}, {"text": "ab"}, signed, {"text": "c"}]


async def test_a_stream_that_stands_still_is_given_up() -> None:
    async def still() -> AsyncIterator[int]:
        yield 1
        await asyncio.Event().wait()

    events = lively(still(), 0.01)
    assert await anext(events) == 1
    with pytest.raises(OutcomeUnknownError, match="stood still"):
        await anext(events)


async def test_a_stream_that_moves_is_passed_on() -> None:
    assert [event async for event in lively(given(1, 2), 60)] == [1, 2]


SECRET = "canary-key/0123"
CUT: list[tuple[Callable[[], Assembly], Callable[[list[str]], list[Any]]]] = [
    (
        MessageAssembly,
        lambda pieces: [
            START,
            copy.deepcopy(TEXT),
            *(PIECE | {"delta": {"type": "text_delta", "text": piece}} for piece in pieces),
            ENDED,
            STOPPED,
            LAST,
        ],
    ),
    (
        ChatAssembly,
        lambda pieces: [
            *({"choices": [{"delta": {"content": piece}}]} for piece in pieces),
            copy.deepcopy(FINISHED),
            COUNTED,
            END,
        ],
    ),
    (
        ContentAssembly,
        lambda pieces: [
            *({"candidates": [{"content": {"parts": [{"text": piece}]}}]} for piece in pieces),
            {"candidates": [{"finishReason": "STOP"}]},
        ],
    ),
]


@pytest.mark.fuzz
@pytest.mark.parametrize(("assembly", "events"), CUT)
@hypothesis.given(
    st.text(max_size=5), st.text(max_size=5), st.lists(st.integers(0, 30), max_size=6).map(sorted)
)
async def test_a_key_is_known_wherever_the_stream_was_cut(
    assembly: Callable[[], Assembly],
    events: Callable[[list[str]], list[Any]],
    before: str,
    after: str,
    cuts: list[int],
) -> None:
    text = f"{before}{SECRET}{after}"
    pieces = [text[start:end] for start, end in pairwise([0, *cuts, None])]
    body = await assembled(given(*events(pieces)), assembly())
    said = json.dumps(body)
    assert SECRET in said
    assert SECRET not in KnownSecrets([SECRET]).redact(said)
