"""Long conversations that move between providers: nothing is lost, and no signature goes astray."""

from collections.abc import AsyncIterator, Sequence

import pytest
import pytest_asyncio
from temporalio.testing import ActivityEnvironment

from activities.adapters.blob_store import MemoryStore
from activities.message_chain import Conversations
from activities.model_calls import ModelActivities
from tests.unit.activities.adapters.models.wire import OPENING, PROVIDERS, facts, play
from tests.wire.recorder import Recorder, found, recording
from tests.wire.stage import Stage, asked
from workflows.contracts.model_contracts import ModelAnswered
from workflows.domain.agent.messages import (
    AssistantMessage,
    Message,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from workflows.domain.agent.model_values import Provider
from workflows.domain.ids import Digest
from workflows.policy.agent import opening_messages

pytestmark = pytest.mark.asyncio(loop_scope="session")

TURNS = 30
SWITCHES = (11, 21)
"""The first turns of the second and the third provider."""
ORDERS: list[tuple[Provider, ...]] = [
    ("anthropic", "openai", "anthropic"),
    ("openai", "google", "openai"),
    ("google", "anthropic", "google"),
    ("local", "openai", "local"),
]
"""There and back again, so that the first one's signatures are wanted again."""
KINDS = [
    "{text: I look., calls: [{bash: {command: a, note: é😀}}, {bash: {command: b}}]}",
    "{text: Hm.}",
    "{calls: [{name: bash, arguments: {command: c}, id: call_0}]}",
    "{text: Both., calls: [{name: bash, arguments: {command: d}, id: ''}, {bash: {}}]}",
]


class Talk:
    """One agent's conversation: what is stored, and who said what."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.store = MemoryStore()
        self.head: Digest | None = None
        self.pending: tuple[Message, ...] = (OPENING,)

    async def turn(self, provider: Provider) -> ModelAnswered:
        """Ask, as a worker that remembers nothing does, and answer its calls."""
        activities = ModelActivities(
            Conversations(self.store, 0),
            self.recorder,
            lambda name, model, _at, _given: facts(name, model),
        )
        request = asked(provider, self.pending, self.head)
        answer = await ActivityEnvironment().run(activities.call, request)
        assert isinstance(answer, ModelAnswered)
        self.head = answer.head
        results = [ToolResult(call_id=c.id, name=c.name, text="ok") for c in answer.tool_calls]
        following = ToolMessage(results=tuple(results)) if results else UserMessage(text="Go on.")
        self.pending = (following,)
        return answer

    async def own(self, provider: Provider) -> list[str]:
        """The signatures that a provider gave in this conversation, in order."""
        assert self.head is not None
        raws = [
            message.provider_raw
            for message in await Conversations(self.store, 0).load(self.head)
            if isinstance(message, AssistantMessage)
        ]
        dialect = {"google": "gemini", "local": "chat"}.get(provider, provider)
        given = [raw.payload for raw in raws if raw is not None and raw.dialect == dialect]
        return [each for payload in given for each in found(payload)]

    async def compact(self, provider: Provider, turns: int) -> None:
        """Ask for a summary and begin again with it, as an agent does near the window's end."""
        self.pending = (*self.pending, UserMessage(text=opening_messages.COMPACTION))
        summary = await self.turn(provider)
        opening = opening_messages.resumed(OPENING.text, turns, summary.text)
        self.head, self.pending = None, (UserMessage(text=opening),)


@pytest_asyncio.fixture(loop_scope="session")
async def talk(stage: Stage) -> AsyncIterator[Talk]:
    stage.simulator.play(play(*[KINDS[turn % len(KINDS)] for turn in range(TURNS)]))
    async with recording(stage.simulator.base_urls) as recorder:
        yield Talk(recorder)


def speaker(order: Sequence[Provider], turn: int) -> Provider:
    return order[sum(turn >= first for first in SWITCHES)]


async def played(talk: Talk, order: Sequence[Provider], turns: Sequence[int]) -> None:
    """Play turns, and compare what goes out with what its own provider gave before."""
    for turn in turns:
        provider = speaker(order, turn)
        given = await talk.own(provider) if talk.head is not None else []
        answer = await talk.turn(provider)
        assert talk.recorder.signatures() == given
        assert len(await talk.own(provider)) == len(given) + 1, "one more with each turn"
        assert bool(answer.tool_calls) == (answer.stop == "tool_calls")


@pytest.mark.slow
@pytest.mark.parametrize("order", ORDERS, ids="-".join)
async def test_thirty_turns_over_two_switches(
    stage: Stage, talk: Talk, order: tuple[Provider, ...]
) -> None:
    await played(talk, order, range(1, TURNS + 1))
    assert stage.logged("turn") == list(range(1, TURNS + 1))
    assert talk.head is not None
    conversation = await Conversations(talk.store, 0).load(talk.head)
    calls = [c.id for m in conversation if isinstance(m, AssistantMessage) for c in m.tool_calls]
    assert len(calls) == len(set(calls)) > TURNS


@pytest.mark.parametrize("switched", [*zip(ORDERS, (5, 15, 25, 25), strict=True)], ids=str)
@pytest.mark.slow
async def test_a_compaction_between_the_switches(
    stage: Stage, talk: Talk, switched: tuple[tuple[Provider, ...], int]
) -> None:
    order, after = switched
    await played(talk, order, range(1, after + 1))
    before = {name: await talk.own(name) for name in PROVIDERS}
    await talk.compact(speaker(order, after), after)
    await played(talk, order, range(after + 1, TURNS + 1))
    sent_later = "".join(body.decode() for body in talk.recorder.bodies[after + 1 :])
    assert not [each for given in before.values() for each in given if each in sent_later]
    played_turns = [
        entry.get("turn") for entry in stage.simulator.log.entries if not entry.get("is_compaction")
    ]
    assert played_turns == list(range(1, TURNS + 1))
