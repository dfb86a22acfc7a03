"""What is measured while a provider answers: its first content, and what is left of its limits."""

import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, NamedTuple

from activities.ports.measures import measure

if TYPE_CHECKING:
    from httpx2 import Response

_LEFT: Final[Mapping[str, str]] = {
    "anthropic-ratelimit-requests-remaining": "requests",
    "anthropic-ratelimit-tokens-remaining": "tokens",
    "anthropic-ratelimit-input-tokens-remaining": "input_tokens",
    "anthropic-ratelimit-output-tokens-remaining": "output_tokens",
    "x-ratelimit-remaining-requests": "requests",
    "x-ratelimit-remaining-tokens": "tokens",
}
"""Headers of Anthropic, and of OpenAI and servers like it. Gemini sends none."""


class _Call(NamedTuple):
    provider: str
    began: float


_call: ContextVar[_Call | None] = ContextVar("call", default=None)


@contextmanager
def call_to(provider: str) -> Generator[None]:
    """Mark the block as one call to a provider, which begins now."""
    token = _call.set(_Call(provider, time.monotonic()))
    try:
        yield
    finally:
        _call.reset(token)


def content_came() -> None:
    """Measure the time from the start of the call to this first content of its answer."""
    if (call := _call.get()) is not None:
        seconds = time.monotonic() - call.began
        measure("llm_time_to_first_token_seconds", seconds, provider=call.provider)


async def answer_came(response: "Response") -> None:
    """Measure what an answer's headers say is left of the limits; a hook of the HTTP client."""
    if (call := _call.get()) is None:
        return
    for header, kind in _LEFT.items():
        left = response.headers.get(header, "")
        if left.isdecimal():
            measure("api_rate_limit_remaining", float(left), provider=call.provider, kind=kind)
