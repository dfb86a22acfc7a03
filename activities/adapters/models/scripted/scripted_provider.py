"""The provider `scripted`: a playbook answers instead of a model, and every answer says so.

It counts, only within this process, how often a turn was requested, so that an error with `times`
ends. It sends nothing and stores nothing.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime

from activities.adapters.models.dialects.neutral_messages import (
    check_conversation,
    tool_call,
    unique_ids,
)
from activities.adapters.models.scripted.answer_choice import (
    Place,
    PlaybookError,
    ScriptedAnswer,
    answer,
    locate,
)
from activities.adapters.models.scripted.playbook import STREAM_FAULTS, Playbook, ScriptedError
from activities.ports.model_provider import (
    AuthenticationFailedError,
    ContextOverflowError,
    CreditExhaustedError,
    InvalidRequestError,
    ModelError,
    ModelReply,
    ModelRequest,
    OutcomeUnknownError,
    ProviderUnavailableError,
    RateLimitedError,
)
from activities.text.retry_after import parse_wait
from activities.text.surrogates import clean
from workflows.domain.agent.messages import AssistantMessage
from workflows.policy.money.call_cost import cost_usd


class ScriptedProvider:
    """Answers from a playbook; implements `activities.ports.model_provider.ModelProvider`."""

    def __init__(self, playbook: Playbook) -> None:
        self._playbook = playbook
        self._asked: Counter[Place] = Counter()

    async def call(self, request: ModelRequest) -> ModelReply:
        """Return the playbook's answer after its latency; see the port for errors."""
        check_conversation(request.messages)
        spoken = self._answer(request)
        await self._wait(spoken, request)
        if spoken.error is not None:
            raise _model_error(spoken.error)
        return _reply(spoken, request)

    def _answer(self, request: ModelRequest) -> ScriptedAnswer:
        try:
            place = locate(request.messages)
            spoken = answer(self._playbook, request.messages, self._asked[place])
        except PlaybookError as error:
            raise InvalidRequestError(f"scripted model: {error}") from None
        self._asked[place] += 1
        return spoken

    async def _wait(self, spoken: ScriptedAnswer, request: ModelRequest) -> None:
        limit = request.timeout.total_seconds()
        stalls = spoken.error is not None and spoken.error.kind == "stall"
        await asyncio.sleep(limit if stalls else min(spoken.latency_s, limit))
        if stalls or spoken.latency_s > limit:
            raise OutcomeUnknownError(f"scripted model: no answer within {limit:g} s")


def _reply(spoken: ScriptedAnswer, request: ModelRequest) -> ModelReply:
    ids = unique_ids((call.id for call in spoken.calls), request.messages)
    calls = [
        tool_call(call_id, call.name, call.arguments)
        for call_id, call in zip(ids, spoken.calls, strict=True)
    ]
    return ModelReply(
        message=AssistantMessage(text=clean(spoken.text), tool_calls=tuple(calls)),
        stop=spoken.stop,
        usage=spoken.usage,
        cost_usd=cost_usd(request.model.prices, spoken.usage),
        scripted=True,
    )


def _model_error(error: ScriptedError) -> ModelError:
    message = f"scripted model: the playbook says {error.kind!r} here"
    wait = None
    if error.retry_after is not None:
        wait = parse_wait(str(error.retry_after), datetime.now(UTC))
    if error.kind == "rate_limited":
        return RateLimitedError(message, wait)
    if error.kind == "unavailable":
        return ProviderUnavailableError(message, wait)
    return _WITHOUT_WAIT[error.kind](message)


_WITHOUT_WAIT: Mapping[str, type[ModelError]] = {
    "auth": AuthenticationFailedError,
    "credit": CreditExhaustedError,
    "context_overflow": ContextOverflowError,
    "invalid": InvalidRequestError,
    **dict.fromkeys(STREAM_FAULTS, OutcomeUnknownError),
}
