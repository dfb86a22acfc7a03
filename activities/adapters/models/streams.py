"""A streamed answer becomes one whole answer, or a failure; there is nothing between.

Each dialect has an assembly that puts the stream's events together to the JSON that the provider
would have sent at once, so one reader serves both. An answer is whole only once the dialect's own
last event came: all three SDKs end a cut stream without an error. What fails after that event
changes nothing any more.

| in the stream                                       | decision                                   |
|-----------------------------------------------------|--------------------------------------------|
| its end is announced                                | the answer, whatever follows               |
| it ends, breaks, stands still, or is not JSON       | outcome unknown: may be billed             |
| an error before any content                         | as the same error in an answer of its own  |
| an error after content, of a kind that is repeated  | outcome unknown: may be billed             |
| an error after content, of any other kind           | as the same error in an answer of its own  |
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Protocol

from activities.ports.model_provider import (
    ModelError,
    OutcomeUnknownError,
    ProviderUnavailableError,
    RateLimitedError,
)
from activities.text.foreign_json import Json, table

DRAIN_S = 1.0
"""How long the rest of a whole answer is read, so that its connection can be used again."""


class Assembly(Protocol):
    """One dialect's way to put its events together."""

    is_whole: bool
    """The event that ends every whole answer was taken."""
    has_begun: bool
    """Content was taken, so the provider may bill what came."""

    def take(self, event: Json) -> None:
        """Take one event, in order.

        Raises:
            ModelError: the event is an error, or fits nowhere.
        """
        ...

    def body(self) -> Json:
        """Return the whole answer, as the provider sends it without a stream."""
        ...


async def whole(
    events: AsyncIterator[object],
    assembly: Assembly,
    classify: Callable[[Exception], ModelError | None],
) -> Json:
    """Read a stream to its announced end and return the answer.

    Args:
        events: the SDK's, each one parsed JSON.
        assembly: a new one.
        classify: maps the SDK's own exceptions; None: not one of its.

    Raises:
        ModelError: by the table above.
        Exception: of the transport or of JSON; the caller's mapping makes it an unknown outcome.
    """
    following = aiter(events)
    try:
        async for event in following:
            assembly.take(table(event))
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
    """Read what follows the end; the answer stands, so nothing here can fail it."""
    try:
        async with asyncio.timeout(DRAIN_S):
            async for _ in events:
                pass
    except Exception:  # noqa: BLE001 - the answer is whole, whatever its connection does
        return


async def lively(events: AsyncIterator[object], idle_s: float) -> AsyncIterator[object]:
    """Pass events on, for an SDK that has no time limit of its own between two of them.

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
