"""One tiny real call to each of several models: `python -m workers.model_trial`, request on stdin.

A process of its own, so that its caller (the command line) never loads a provider's SDK. It keeps
nothing and retries nothing.
"""

import asyncio
import sys
import time
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from pydantic import BaseModel

from workers.settings import Settings
from workflows.domain.agent.model_values import ModelFacts, Role, Usage

if TYPE_CHECKING:
    from activities.adapters.models.providers import ProviderRegistry
    from activities.ports.model_provider import ModelRequest

_TIMEOUT: Final = timedelta(minutes=2)
_MOST_TOKENS: Final = 1_024
"""The limit for the answer: some models think before they call."""
_TOOL: Final = "ready"
TASK: Final = "models-test"
"""Lets a playbook tell these calls from a session's."""


class TrialOrder(BaseModel, frozen=True, extra="forbid"):
    """One model to call, in one role."""

    facts: ModelFacts
    role: Role


class TrialRequest(BaseModel, frozen=True, extra="forbid"):
    """The models to call."""

    orders: tuple[TrialOrder, ...]


class Trial(BaseModel, frozen=True, extra="forbid"):
    """The result of one call."""

    model: str
    error: str | None = None
    """Why there was no answer; None: there was one."""
    latency: timedelta
    calls_tools: bool = False
    """Whether the model called the requested tool."""
    usage: Usage = Usage()
    cost_usd: Decimal | None = None
    """None if no price is known, or if there was no answer."""
    scripted: bool = False


class TrialReport(BaseModel, frozen=True, extra="forbid"):
    """All calls, in the order of the request."""

    trials: tuple[Trial, ...]


async def try_all(settings: Settings, request: TrialRequest) -> TrialReport:
    """Call every model once, all at the same time."""
    from activities.adapters.models.providers import ProviderRegistry
    from workers.provider_wiring import provider_settings

    registry = ProviderRegistry(provider_settings(settings))
    try:
        trials = await asyncio.gather(*(_try(registry, order) for order in request.orders))
    finally:
        await registry.aclose()
    return TrialReport(trials=tuple(trials))


async def _try(registry: "ProviderRegistry", order: TrialOrder) -> Trial:
    from activities.ports.model_provider import ModelError

    name = f"{order.facts.provider}/{order.facts.model}"
    began = time.monotonic()
    try:
        reply = await registry.call(_request(order))
    except ModelError as error:
        text = f"{type(error).__name__}: {error}"[:2_000]
        return Trial(model=name, error=text, latency=_since(began))
    return Trial(
        model=name,
        latency=_since(began),
        calls_tools=any(call.name == _TOOL for call in reply.message.tool_calls),
        usage=reply.usage,
        cost_usd=reply.cost_usd,
        scripted=reply.scripted,
    )


def _since(began: float) -> timedelta:
    return timedelta(seconds=time.monotonic() - began)


def _request(order: TrialOrder) -> "ModelRequest":
    from activities.ports.model_provider import ModelRequest, ToolSchema
    from workflows.domain.agent.messages import UserMessage

    ask = (
        f"Role: {order.role}\nTask: {TASK}\nAttempt: 1\n\n"
        f"Call the tool `{_TOOL}` once, without arguments, and do nothing else."
    )
    tool = ToolSchema(
        name=_TOOL,
        description="Says that you can call tools.",
        parameters={"type": "object", "properties": {}, "additionalProperties": False},
    )
    return ModelRequest(
        model=order.facts,
        system="This is a test of the connection. Follow the instruction and nothing else.",
        tools=(tool,),
        messages=(UserMessage(text=ask),),
        max_output_tokens=_MOST_TOKENS,
        cache_key=TASK,
        timeout=_TIMEOUT,
    )


def main() -> int:
    """Read a request from the standard input, make the calls, and write the report."""
    request = TrialRequest.model_validate_json(sys.stdin.buffer.read())
    report = asyncio.run(try_all(Settings.read(), request))
    sys.stdout.write(f"{report.model_dump_json()}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
