"""Turns a streamed answer into one whole answer or a failure; there is nothing in between.

Each dialect has an assembly that combines the stream's events into the JSON that the provider would
have sent without a stream, so one reader serves both. An answer is complete only after the
dialect's own last event, because all three SDKs end a cut stream without an error. A failure after
that event changes nothing.

| in the stream                                       | decision                                   |
|-----------------------------------------------------|--------------------------------------------|
| its end is announced                                | the answer, whatever follows               |
| it ends, breaks, stalls, or is not JSON             | outcome unknown: may be billed             |
| an error before any content                         | as the same error in a separate answer     |
| an error after content, of a kind that is retried   | outcome unknown: may be billed             |
| an error after content, of any other kind           | as the same error in a separate answer     |
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Protocol

from activities.adapters.models.call_measures import content_came
from activities.ports.model_provider import (
    ModelError,
    OutcomeUnknownError,
    ProviderUnavailableError,
    RateLimitedError,
)
from activities.text.foreign_json import Json, table

DRAIN_S = 1.0
"""How long to read the rest of a whole answer, so that its connection can be reused."""


class Assembly(Protocol):
    """One dialect's way to combine its events."""

    is_whole: bool
    """The event that ends every complete answer was taken."""
    has_begun: bool
    """Content was taken, so the provider may bill it."""

    def take(self, event: Json) -> None:
        """Take one event, in order.

        Raises:
            ModelError: the event is an error, or is out of place.
        """
        ...

    def body(self) -> Json:
        """Return the whole answer, as the provider would send it without a stream."""
        ...


async def whole(
    events: AsyncIterator[object],
    assembly: Assembly,
    classify: Callable[[Exception], ModelError | None],
) -> Json:
    """Read a stream to its announced end and return the answer.

    Args:
        events: the SDK's, each parsed from JSON.
        assembly: a new one.
        classify: maps the SDK's own exceptions; None: the exception is not the SDK's.

    Raises:
        ModelError: by the table above.
        Exception: of the transport or of JSON, which the caller maps to an unknown outcome.
    """
    following = aiter(events)
    has_begun = False
    try:
        async for event in following:
            assembly.take(table(event))
            if assembly.has_begun and not has_begun:
                has_begun = True
                content_came()
            if assembly.is_whole:
                break
    except Exception as error:
        failure = error if isinstance(error, ModelError) else classify(error)
        if assembly.has_begun and isinstance(failure, RateLimitedError | ProviderUnavailableError):
            raise OutcomeUnknownError(f"in the middle of an answer: {failure}") from None
        raise
    if not assembly.is_whole:
        raise OutcomeUnknownError("the stream ended before its end was announced")
    await _drain(following)
    return assembly.body()


async def _drain(events: AsyncIterator[object]) -> None:
    """Read what follows the end; the answer is complete, so no error here matters."""
    try:
        async with asyncio.timeout(DRAIN_S):
            async for _ in events:
                pass
    except Exception:  # noqa: BLE001 - the answer is whole, whatever its connection does
        return


async def lively(events: AsyncIterator[object], idle_s: float) -> AsyncIterator[object]:
    """Pass events on, for an SDK without a time limit between two events.

    Raises:
        OutcomeUnknownError: nothing came for `idle_s`.
    """
    following = aiter(events)
    while True:
        try:
            async with asyncio.timeout(idle_s):
                event = await anext(following)
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise OutcomeUnknownError(f"the stream stood still for {idle_s:g} s") from None
        yield event
