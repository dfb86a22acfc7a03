"""A model call's failures: what Temporal may repeat, and what may have been billed."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.adapters.blob_store import MemoryStore
from activities.adapters.models.scripted.playbook import parse_playbook
from activities.adapters.models.scripted.scripted_provider import ScriptedProvider
from activities.message_chain import Conversations
from activities.model_calls import ModelActivities
from activities.ports.model_provider import (
    ModelError,
    ModelProvider,
    ModelReply,
    ModelRequest,
    ProviderUnavailableError,
    RateLimitedError,
)
from workflows.contracts.model_contracts import CallModel, ModelAnswered, PrefixLost
from workflows.domain.agent.messages import UserMessage
from workflows.domain.agent.model_values import ModelFacts, Role
from workflows.domain.ids import AgentId, Digest, SessionId
from workflows.errors import FailureType

FACTS = ModelFacts(
    provider="scripted",
    model="alpha",
    family="scripted",
    window_tokens=100_000,
    max_output_tokens=4_096,
    prices=None,
)
PLAYBOOK = "schema: 1\nname: t\nscenes: [{role: planner, turns: [{text: hello}]}]"
LOST = Digest("0" * 64)


class FullDisk(MemoryStore):
    """A store on which nothing more can be written."""

    async def put(self, data: bytes) -> Digest:
        raise OSError(28, "No space left on device")


class Unreachable(MemoryStore):
    """A store that does not answer."""

    async def get(self, digest: Digest) -> bytes:
        raise TimeoutError("the store does not answer")


class Raising:
    """A provider whose adapter lets something through."""

    def __init__(self, failure: BaseException) -> None:
        self._failure = failure

    async def call(self, request: ModelRequest) -> ModelReply:
        raise self._failure


def request(prefix: Digest | None = None) -> CallModel:
    return CallModel(
        session=SessionId("s1"),
        agent=AgentId("plan.1"),
        role=Role.PLANNER,
        model=FACTS,
        turn=1,
        prefix=prefix,
        messages=(UserMessage(text="Role: planner\n\nPlan."),),
        max_output_tokens=100,
    )


async def call(
    provider: ModelProvider, store: MemoryStore, prefix: Digest | None = None
) -> ModelAnswered | PrefixLost:
    activities = ModelActivities(
        Conversations(store, 0), provider, lambda _provider, _model, _at, _given: FACTS
    )
    return await ActivityEnvironment().run(activities.call, request(prefix))


@pytest.mark.parametrize(
    "failure", [RuntimeError("a bug"), OSError("a socket"), ValueError("no such answer")]
)
async def test_what_is_raised_after_sending_is_of_unknown_outcome(failure: Exception) -> None:
    with pytest.raises(ApplicationError, match="the call was sent, and then") as raised:
        await call(Raising(failure), MemoryStore())
    assert raised.value.type == FailureType.OUTCOME_UNKNOWN
    assert raised.value.non_retryable


@pytest.mark.parametrize(
    ("failure", "counted"),
    [
        (ProviderUnavailableError("away"), 2),
        (RateLimitedError("slow down", timedelta(seconds=1)), 0),
    ],
)
async def test_an_answer_tells_how_often_the_provider_failed_before(
    failure: ModelError, counted: int
) -> None:
    answering = ScriptedProvider(parse_playbook(PLAYBOOK, "t.yaml"))

    class Recovering:
        asked = 0

        async def call(self, request: ModelRequest) -> ModelReply:
            self.asked += 1
            if self.asked in {1, 2}:
                raise failure
            return await answering.call(request)

    activities = ModelActivities(
        Conversations(MemoryStore(), 0), Recovering(), lambda _provider, _model, _at, _given: FACTS
    )
    environment = ActivityEnvironment()
    for attempt in (1, 2):
        environment.info = replace(environment.info, attempt=attempt)
        with pytest.raises(ApplicationError):
            await environment.run(activities.call, request())
    environment.info = replace(environment.info, attempt=3)
    answer = await environment.run(activities.call, request())
    assert isinstance(answer, ModelAnswered)
    assert answer.failures == counted


async def test_a_cancelled_call_stays_cancelled() -> None:
    with pytest.raises(asyncio.CancelledError):
        await call(Raising(asyncio.CancelledError()), MemoryStore())


async def test_an_answer_that_cannot_be_stored_is_not_asked_for_again() -> None:
    provider = ScriptedProvider(parse_playbook(PLAYBOOK, "t.yaml"))
    with pytest.raises(ApplicationError, match="No space left on device") as raised:
        await call(provider, FullDisk())
    assert raised.value.type == FailureType.OUTCOME_UNKNOWN
    assert raised.value.non_retryable


async def test_a_store_that_fails_before_sending_is_asked_again() -> None:
    with pytest.raises(TimeoutError):
        await call(Raising(AssertionError("was sent")), Unreachable(), LOST)


async def test_a_lost_prefix_is_an_answer() -> None:
    outcome = await call(Raising(AssertionError("was sent")), MemoryStore(), LOST)
    assert isinstance(outcome, PrefixLost)


async def test_a_tool_that_a_person_took_from_the_role_is_not_offered() -> None:
    offered: list[str] = []

    class Looking(Raising):
        async def call(self, request: ModelRequest) -> ModelReply:
            offered.extend(tool.name for tool in request.tools)
            return await super().call(request)

    provider = Looking(AssertionError("seen"))
    activities = ModelActivities(
        Conversations(MemoryStore(), 0), provider, lambda _provider, _model, _at, _given: FACTS
    )
    asked = request().model_copy(update={"tools": ("read",)})
    with pytest.raises(ApplicationError, match="seen"):
        await ActivityEnvironment().run(activities.call, asked)
    assert offered == ["read", "ask", "submit_plan"]


MINUTES = timedelta(minutes=1)
FAR = FailureType.WAIT_TOO_LONG
NEAR = FailureType.RATE_LIMITED


@pytest.mark.parametrize(
    ("longest", "named", "waited", "kind"),
    [
        (10, 11, 0, FAR),
        (10, 9, 0, NEAR),
        (10, 9, 2, FAR),
        (10, None, 11, FAR),
        (10, None, 9, NEAR),
        (None, 300, 300, NEAR),
    ],
)
async def test_a_long_wait_is_given_up_where_there_is_another_model(
    longest: int | None, named: int | None, waited: int, kind: FailureType
) -> None:
    retry_after = None if named is None else named * MINUTES
    failure = RateLimitedError("later", retry_after)
    activities = ModelActivities(
        Conversations(MemoryStore(), 0),
        Raising(failure),
        lambda _provider, _model, _at, _given: FACTS,
    )
    environment = ActivityEnvironment()
    began = datetime.now(UTC) - waited * MINUTES
    environment.info = replace(environment.info, scheduled_time=began)
    patience = None if longest is None else longest * MINUTES
    asked = request().model_copy(update={"longest_wait": patience})
    with pytest.raises(ApplicationError, match="later") as raised:
        await environment.run(activities.call, asked)
    assert (raised.value.type, raised.value.non_retryable) == (kind, kind is FAR)
