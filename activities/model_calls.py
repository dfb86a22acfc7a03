"""Model calls: the stored prefix, one request, one settled answer, one mapping of errors.

A call never retries by itself: Temporal repeats what the provider does not bill, and the agent
decides about the rest.
"""

import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from temporalio import activity
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory

from activities.message_chain import Conversations, PrefixLostError
from activities.ports.model_provider import (
    AuthenticationFailedError,
    ContextOverflowError,
    CreditExhaustedError,
    InvalidRequestError,
    ModelError,
    ModelProvider,
    ModelRequest,
    ModelUnusableError,
    OutcomeUnknownError,
    OutputTooLongError,
    PromptBlockedError,
    ProviderUnavailableError,
    RateLimitedError,
)
from activities.prompts.role_prompts import system_prompt
from activities.toolset.tool_schemas import tools_for
from workflows.contracts.model_contracts import (
    CallModel,
    ModelAnswered,
    ModelOutcome,
    PrefixLost,
    ResolveModels,
)
from workflows.domain.agent.messages import Message
from workflows.domain.agent.model_values import GivenFacts, ModelFacts, Provider
from workflows.domain.session.session_state import ResolvedRoutes
from workflows.errors import FailureType

_LIMIT = timedelta(minutes=15)
"""Below the contract's own, so that the call itself can say that it took too long."""

_KINDS: dict[type[ModelError], FailureType] = {
    RateLimitedError: FailureType.RATE_LIMITED,
    ProviderUnavailableError: FailureType.PROVIDER_UNAVAILABLE,
    CreditExhaustedError: FailureType.CREDIT_EXHAUSTED,
    AuthenticationFailedError: FailureType.AUTHENTICATION_FAILED,
    ContextOverflowError: FailureType.CONTEXT_OVERFLOW,
    OutputTooLongError: FailureType.OUTPUT_TOO_LONG,
    ModelUnusableError: FailureType.MODEL_UNUSABLE,
    PromptBlockedError: FailureType.PROMPT_BLOCKED,
    InvalidRequestError: FailureType.INVALID_REQUEST,
    OutcomeUnknownError: FailureType.OUTCOME_UNKNOWN,
}
_MOST_OPEN = 1_000
_RETRIED = (FailureType.RATE_LIMITED, FailureType.PROVIDER_UNAVAILABLE)


class ModelActivities:
    """Activities `models.resolve` and `models.call`, in role `models`."""

    def __init__(
        self,
        conversations: Conversations,
        provider: ModelProvider,
        resolve: Callable[[Provider, str, datetime, GivenFacts | None], ModelFacts],
        limit: timedelta = _LIMIT,
    ) -> None:
        """Args: where conversations are; who answers; a model's facts; the limit for one call."""
        self._limit = limit
        self._conversations = conversations
        self._provider = provider
        self._resolve = resolve
        self._failed = _FailedAttempts()

    @activity.defn(name="models.resolve")
    async def resolve(self, request: ResolveModels) -> ResolvedRoutes:
        """Look every model of the routes up, so that facts and prices are pinned.

        Raises:
            ApplicationError: of type `InvalidRequest`, where no one knows a model's provider.
        """
        now = datetime.now(UTC)
        routes = request.routes

        def pinned(route: tuple[str, ...]) -> tuple[ModelFacts, ...]:
            return tuple(self._facts(name, now, request.catalogue.get(name)) for name in route)

        try:
            return ResolvedRoutes(
                planner=pinned(routes.planner),
                developer=pinned(routes.developer),
                reviewer=pinned(routes.reviewer),
            )
        except ModelError as error:
            raise _failure(error) from error

    def _facts(self, name: str, now: datetime, given: GivenFacts | None) -> ModelFacts:
        provider, _, model = name.partition("/")
        return self._resolve(provider, model, now, given)

    @activity.defn(name="models.call")
    async def call(self, request: CallModel) -> ModelOutcome:
        """Make one call and store the conversation with its answer.

        Raises:
            ApplicationError: one of the failure types of `workflows.errors`.
        """
        try:
            before = await self._before(request)
        except PrefixLostError:
            return PrefixLost()
        whole = ModelRequest(
            model=request.model,
            system=system_prompt(request.role),
            tools=tools_for(request.role, request.tools, patches=request.model.patches),
            messages=(*before, *request.messages),
            max_output_tokens=request.max_output_tokens,
            effort=request.effort,
            cache_key=f"{request.session}/{request.agent}",
            timeout=self._limit,
        )
        try:
            return await self._send(request, whole)
        except ModelError as error:
            if isinstance(error, ProviderUnavailableError):
                self._failed.add()
            raise _failure(error, request.model, request.longest_wait) from error
        except Exception as error:
            # From the moment of sending the call may be billed: a repeat is the agent's to decide.
            text = f"the call was sent, and then: {type(error).__name__}: {error}"
            raise _failure(OutcomeUnknownError(text), request.model) from error

    async def _send(self, request: CallModel, whole: ModelRequest) -> ModelAnswered:
        """Send the request and store what was answered."""
        began = time.monotonic()
        reply = await self._provider.call(whole)
        latency = timedelta(seconds=time.monotonic() - began)
        head = await self._conversations.append(request.prefix, (*request.messages, reply.message))
        return ModelAnswered(
            text=reply.message.text,
            tool_calls=reply.message.tool_calls,
            head=head,
            stop=reply.stop,
            refusal=reply.refusal[:1_000],
            usage=reply.usage,
            cost_usd=(reply.cost_usd if reply.cost_usd is not None else Decimal(0)),
            latency=latency,
            scripted=reply.scripted,
            failures=self._failed.take(),
        )

    async def _before(self, request: CallModel) -> tuple[Message, ...]:
        if request.prefix is None:
            return ()
        return await self._conversations.load(request.prefix)


class _FailedAttempts:
    """How many attempts at the running call failed before, in this process."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str | None, str]] = Counter()

    def add(self) -> None:
        """Count one; what is far too much to be of open calls is forgotten."""
        if len(self._counts) > _MOST_OPEN:
            self._counts.clear()
        self._counts[self._call()] += 1

    def take(self) -> int:
        """Return the number, and forget it."""
        return self._counts.pop(self._call(), 0) if activity.info().attempt > 1 else 0

    @staticmethod
    def _call() -> tuple[str | None, str]:
        info = activity.info()
        return info.workflow_run_id, info.activity_id


def _failure(
    error: ModelError, model: ModelFacts | None = None, longest_wait: timedelta | None = None
) -> ApplicationError:
    """Map an error to the failure that the history keeps; its detail names the model asked."""
    kind = next(kind for each, kind in _KINDS.items() if isinstance(error, each))
    retry_after: timedelta | None = getattr(error, "retry_after", None)
    if kind in _RETRIED and longest_wait is not None:
        waited = datetime.now(UTC) - activity.info().scheduled_time
        if waited + (retry_after or timedelta()) > longest_wait:
            kind = FailureType.WAIT_TOO_LONG
    return ApplicationError(
        str(error)[:2_000],
        *([] if model is None else [f"{model.provider}/{model.model}"]),
        type=kind,
        non_retryable=kind not in _RETRIED,
        next_retry_delay=retry_after,
        category=ApplicationErrorCategory.BENIGN
        if kind in _RETRIED
        else ApplicationErrorCategory.UNSPECIFIED,
    )
