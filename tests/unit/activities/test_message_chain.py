"""Chains of messages: same in, same head; whole again, byte for byte; flat per turn."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from activities.adapters.blob_store import MemoryStore
from activities.message_chain import Conversations, PrefixLostError
from workflows.domain.agent.messages import (
    AssistantMessage,
    Message,
    ProviderRaw,
    ToolCall,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from workflows.domain.ids import Digest

TEXT = st.text(max_size=20)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
).filter(lambda value: "inf" not in repr(value))
CALLS = st.builds(ToolCall, id=TEXT, name=TEXT, arguments=st.dictionaries(TEXT, JSON, max_size=2))
RAW = st.builds(
    ProviderRaw, dialect=st.sampled_from(["anthropic", "openai", "gemini"]), payload=JSON
)
MESSAGES: st.SearchStrategy[Message] = st.one_of(
    st.builds(UserMessage, text=TEXT),
    st.builds(
        AssistantMessage,
        text=TEXT,
        tool_calls=st.lists(CALLS, max_size=2).map(tuple),
        provider_raw=st.none() | RAW,
    ),
    st.builds(
        ToolMessage,
        results=st.lists(st.builds(ToolResult, call_id=TEXT, name=TEXT, text=TEXT)).map(tuple),
    ),
)
PORTIONS = st.lists(st.lists(MESSAGES, min_size=1, max_size=3), min_size=1, max_size=4)


async def chain(conversations: Conversations, portions: list[list[Message]]) -> Digest:
    head: Digest | None = None
    for portion in portions:
        head = await conversations.append(head, portion)
    assert head is not None
    return head


@given(PORTIONS)
async def test_a_conversation_comes_back_whole_from_a_cold_store(
    portions: list[list[Message]],
) -> None:
    store = MemoryStore()
    head = await chain(Conversations(store), portions)
    loaded = await Conversations(store, cache_bytes=0).load(head)
    assert loaded == tuple(message for portion in portions for message in portion)
    assert [m.model_dump_json() for m in loaded] == [
        m.model_dump_json() for portion in portions for m in portion
    ]


@given(PORTIONS)
async def test_the_same_portions_have_the_same_head(portions: list[list[Message]]) -> None:
    first = await chain(Conversations(MemoryStore()), portions)
    assert await chain(Conversations(MemoryStore(), cache_bytes=0), portions) == first


@given(PORTIONS, MESSAGES)
async def test_another_message_is_another_head(
    portions: list[list[Message]], more: Message
) -> None:
    conversations = Conversations(MemoryStore())
    head = await chain(conversations, portions)
    assert await conversations.append(head, [more]) != head
    assert await conversations.append(None, [more]) != await conversations.append(head, [more])


async def test_a_signature_and_the_order_of_keys_survive() -> None:
    payload: JsonValue = [
        {"z": 1, "type": "thinking", "signature": '+/=_-é\u2028\\"', "a": {"y": 1, "b": 2}}
    ]
    message = AssistantMessage(provider_raw=ProviderRaw(dialect="anthropic", payload=payload))
    store = MemoryStore()
    head = await Conversations(store).append(None, [message])
    (loaded,) = await Conversations(store).load(head)
    assert isinstance(loaded, AssistantMessage)
    assert repr(loaded.provider_raw) == repr(message.provider_raw)


async def test_a_lone_surrogate_is_replaced_once() -> None:
    """Field report R09."""
    store = MemoryStore()
    conversations = Conversations(store)
    head = await conversations.append(None, [UserMessage(text="ok \ud83d end")])
    assert await conversations.load(head) == (UserMessage(text="ok \ufffd end"),)
    assert await conversations.append(None, [UserMessage(text="ok \ufffd end")]) == head


async def test_nothing_to_append_is_the_same_head() -> None:
    conversations = Conversations(MemoryStore())
    head = await conversations.append(None, [UserMessage(text="a")])
    assert await conversations.append(head, []) == head
    with pytest.raises(ValueError, match="at least one message"):
        await conversations.append(None, [])


async def test_a_lost_node_is_named() -> None:
    store = MemoryStore()
    conversations = Conversations(store, cache_bytes=0)
    first = await conversations.append(None, [UserMessage(text="a")])
    head = await conversations.append(first, [UserMessage(text="b")])
    store.lose(first)
    with pytest.raises(PrefixLostError, match="send the whole conversation again") as caught:
        await conversations.load(head)
    assert caught.value.missing == first


class CountingStore(MemoryStore):
    """Counts what is written and read."""

    def __init__(self) -> None:
        super().__init__()
        self.put_bytes: list[int] = []
        self.gets = 0

    async def put(self, data: bytes) -> Digest:
        self.put_bytes.append(len(data))
        return await super().put(data)

    async def get(self, digest: Digest) -> bytes:
        self.gets += 1
        return await super().get(digest)


async def test_three_hundred_turns_cost_the_same_each() -> None:
    store = CountingStore()
    writer = Conversations(store)
    head: Digest | None = None
    for turn in range(300):
        head = await writer.append(head, [UserMessage(text=f"{turn:03} " + "x" * 4000)])
        assert len(await writer.load(head)) == turn + 1
    assert head is not None
    assert store.gets == 0
    assert len(set(store.put_bytes[1:])) == 1
    assert len(await Conversations(store).load(head)) == 300
    assert store.gets == 300


async def test_the_cache_is_bounded_and_forgets_the_oldest() -> None:
    store = CountingStore()
    conversations = Conversations(store, cache_bytes=1000)
    heads = [await conversations.append(None, [UserMessage(text=c * 300)]) for c in "abcd"]
    await conversations.load(heads[-1])
    assert store.gets == 0
    await conversations.load(heads[0])
    assert store.gets == 1
