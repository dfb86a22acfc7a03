"""The activity `models.call` with its real providers, in front of one simulator."""

import itertools
from collections.abc import Mapping
from datetime import timedelta

from pydantic import SecretStr
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.adapters.blob_store import MemoryStore
from activities.adapters.models.keys import KeySource
from activities.adapters.models.providers import ProviderRegistry, ProviderSettings
from activities.adapters.models.simulator.simulator_server import Simulator
from activities.adapters.models.transport import IDLE
from activities.message_chain import Conversations
from activities.model_calls import ModelActivities
from tests.unit.activities.adapters.models.wire import KEY, OPENING, PROVIDERS, facts, local
from workflows.contracts.model_contracts import CallModel, ModelAnswered, ModelOutcome
from workflows.domain.agent.messages import Message
from workflows.domain.agent.model_values import Provider, Role
from workflows.domain.ids import AgentId, Digest, SessionId

_MINUTE = timedelta(minutes=1)
NOBODY = dict.fromkeys(PROVIDERS, "http://127.0.0.1:9")


class Caller:
    """Makes calls as a worker does: from a conversation in the store, through the activity."""

    def __init__(
        self, urls: Mapping[Provider, str], limit: timedelta = _MINUTE, idle: timedelta = IDLE
    ) -> None:
        keys: dict[Provider, KeySource] = {name: SecretStr(KEY) for name in PROVIDERS}
        self.registry = ProviderRegistry(
            ProviderSettings(
                keys=keys,
                base_urls=urls,
                entries=local(urls["openai"]),
                trust_env=False,
                idle=idle,
            )
        )
        self.store = MemoryStore()
        self._limit = limit

    async def outcome(
        self, provider: Provider, *messages: Message, prefix: Digest | None = None
    ) -> ModelOutcome:
        """Make one call of a developer."""
        request = asked(provider, messages, prefix)
        return await ActivityEnvironment().run(self.activities().call, request)

    def activities(self) -> ModelActivities:
        """Those of a worker that remembers nothing, so that everything passes the store."""
        return ModelActivities(
            Conversations(self.store, 0),
            self.registry,
            lambda name, model, _at, _given: facts(name, model),
            self._limit,
        )

    async def answer(
        self, provider: Provider, *messages: Message, prefix: Digest | None = None
    ) -> ModelAnswered:
        outcome = await self.outcome(provider, *messages, prefix=prefix)
        assert isinstance(outcome, ModelAnswered)
        return outcome

    async def conversation(self, head: Digest) -> tuple[Message, ...]:
        return await Conversations(self.store, 0).load(head)


def asked(provider: Provider, messages: tuple[Message, ...], prefix: Digest | None) -> CallModel:
    return CallModel(
        session=SessionId("s1"),
        agent=AgentId("dev.a.1"),
        role=Role.DEVELOPER,
        model=facts(provider),
        turn=1,
        prefix=prefix,
        messages=messages or (OPENING,),
        max_output_tokens=4_000,
    )


class Stage:
    """A simulator, and callers of several tempers."""

    def __init__(self, simulator: Simulator) -> None:
        self.simulator = simulator
        urls = simulator.base_urls
        self.callers = {
            "": Caller(urls),
            "idle": Caller(urls, idle=timedelta(seconds=0.2)),
            "impatient": Caller(urls, limit=timedelta(seconds=1)),
            "nobody": Caller(NOBODY),
        }

    @property
    def caller(self) -> Caller:
        return self.callers[""]

    def logged(self, key: str) -> list[object]:
        return [entry[key] for entry in self.simulator.log.entries]

    async def warm_up(self) -> None:
        """Let every caller ask every provider once: a short limit is no time to import a client."""
        for caller, provider in itertools.product(self.callers.values(), PROVIDERS):
            await ending(caller, provider)

    async def aclose(self) -> None:
        for caller in self.callers.values():
            await caller.registry.aclose()


async def ending(caller: Caller, provider: Provider) -> ModelAnswered | ApplicationError:
    """How one call of a fresh conversation ends."""
    try:
        return await caller.answer(provider)
    except ApplicationError as failure:
        return failure
