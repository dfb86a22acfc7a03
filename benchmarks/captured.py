"""Captures the requests that the official SDKs send for agents, before they leave the process.

Opening, prompts, tools, conversation store, adapters and SDKs are the real ones. Only the HTTP
transport is a function, and the models' answers are fixed. Nothing is measured here.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, Final

import httpx2
from pydantic import SecretStr
from temporalio.testing import ActivityEnvironment

from activities.adapters.blob_store import MemoryStore
from activities.adapters.models.anthropic import AnthropicProvider
from activities.adapters.models.catalogue import resolve
from activities.adapters.models.gemini import GeminiProvider
from activities.adapters.models.keys import KeyRing
from activities.adapters.models.openai import OpenAIProvider
from activities.adapters.models.simulator.stream_events import FRAMES
from activities.adapters.models.transport import Transport
from activities.message_chain import Conversations
from activities.model_calls import ModelActivities
from activities.ports.model_provider import ModelProvider
from activities.repository.repository_brief import brief_of
from workflows.contracts.model_contracts import CallModel, ModelAnswered
from workflows.domain.agent.messages import Message, ToolMessage, ToolResult, UserMessage
from workflows.domain.agent.model_values import Provider, Role
from workflows.domain.gate import GateSpec
from workflows.domain.ids import AgentId, SessionId
from workflows.domain.plan import Plan
from workflows.policy.agent import opening_messages

MODELS: Final[Mapping[Provider, str]] = {
    "anthropic": "claude-sonnet-5-5",
    "openai": "gpt-6.1-terra",
    "google": "gemini-4-argon",
}
NONCE: Final = "0123456789ab"
_AT = datetime(2026, 11, 1, tzinfo=UTC)
_HERE = "http://127.0.0.1:9"
_GATES = (GateSpec(name="pytest", argv=("python", "-m", "pytest", "-q")),)
BRIEF: Final = brief_of(
    {
        "AGENTS.md": b"Prices are Decimal. Keep functions short.\n",
        "README.md": b"# Shop\n\nPrices, carts and invoices.\n",
        "pyproject.toml": b"",
        "shop/cart.py": b"",
        "shop/price.py": b"",
        "tests/test_price.py": b"",
    },
    _GATES,
)
_TASK = Plan.model_validate(
    {
        "tasks": [
            {
                "id": "half-cents",
                "kind": "code",
                "title": "Round half a cent to even",
                "description": "`shop/price.py` rounds half a cent up. Round it to even.",
                "acceptance_criteria": ["0.125 becomes 0.12.", "A test shows it."],
                "claims": ["shop/price.py", "tests/test_price.py"],
            }
        ]
    }
).tasks[0]


_GOAL = opening_messages.Goal("Round prices as banks do.")


def opening_of(role: Role) -> str:
    """Return the first message of an agent with an example of a task."""
    match role:
        case Role.PLANNER:
            return opening_messages.planner(_GOAL, BRIEF, (), 1, NONCE)
        case Role.DEVELOPER:
            text = opening_messages.developer(_TASK, 1, _GATES, (), NONCE)
            return opening_messages.with_repository(text, BRIEF, NONCE)
        case Role.REVIEWER:
            work = opening_messages.Submitted(
                diff="+    return round(price, 2)",
                summary="Prices are rounded as banks do; the tests cover halves.",
                gates="tests: passed (12 tests ran)",
            )
            text = opening_messages.reviewer(_TASK, 1, work, NONCE)
            return opening_messages.with_repository(text, BRIEF, NONCE)


class Captured:
    """One agent's conversation with one provider, as it was sent."""

    def __init__(self, provider: Provider) -> None:
        self.provider: Final = provider
        self.bodies: list[bytes] = []
        """The requests, in the order in which they were sent."""
        transport = Transport(wire=httpx2.MockTransport(self._serve), trust_env=False)
        keys = KeyRing({provider: SecretStr("sk-not-a-real-key-0123456789")})
        self._transport = transport
        self._activities = ModelActivities(
            Conversations(MemoryStore()),
            _provider(provider, transport, keys),
            lambda name, model, at, _given: resolve(name, model, at),
        )

    async def talk(self, role: Role, turns: int) -> None:
        """Play so many turns: each answer asks for a tool, in the last but one a person speaks."""
        facts = resolve(self.provider, MODELS[self.provider], _AT)
        head, pending = None, (UserMessage(text=opening_of(role)),)
        for turn in range(1, turns + 1):
            call = CallModel(
                session=SessionId("01JDXA0000000000000000000A"),
                agent=AgentId(f"{role}.half-cents.1"),
                role=role,
                model=facts,
                turn=turn,
                prefix=head,
                messages=pending,
                max_output_tokens=16_000,
            )
            answered = await ActivityEnvironment().run(self._activities.call, call)
            assert isinstance(answered, ModelAnswered)
            head, pending = answered.head, _results(answered, is_steered=turn == turns - 1)
        await self._transport.aclose()

    def _serve(self, request: httpx2.Request) -> httpx2.Response:
        self.bodies.append(request.content)
        frames = FRAMES[_DIALECTS[self.provider]](_ANSWERS[self.provider](len(self.bodies)))
        streamed = b"".join(frame.encode() for frame in frames)
        return httpx2.Response(200, content=streamed, headers=_EVENTS)


_DIALECTS: Final = {"anthropic": "anthropic", "openai": "openai", "google": "gemini"}
_EVENTS: Final = {"content-type": "text/event-stream"}


def _provider(name: Provider, transport: Transport, keys: KeyRing) -> ModelProvider:
    kinds = {"anthropic": AnthropicProvider, "openai": OpenAIProvider, "google": GeminiProvider}
    return kinds[name](transport, keys, _HERE)


def _results(answered: ModelAnswered, *, is_steered: bool) -> tuple[Message, ...]:
    results = [
        ToolResult(call_id=call.id, name=call.name, text=f"     1\tline {call.id}")
        for call in answered.tool_calls
    ]
    said = (UserMessage(text=opening_messages.steered("Mind the edges.")),) if is_steered else ()
    return (ToolMessage(results=tuple(results)), *said)


def _anthropic(turn: int) -> dict[str, Any]:
    return {
        "id": f"msg_{turn}",
        "type": "message",
        "role": "assistant",
        "model": MODELS["anthropic"],
        "content": [
            {"type": "thinking", "thinking": "I look.", "signature": f"c2ln{turn}=="},
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": f"t{turn}", "name": "read", "input": {"path": "é\u2028"}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 1_000, "output_tokens": 20},
    }


def _openai(turn: int) -> dict[str, Any]:
    return {
        "id": f"resp_{turn}",
        "object": "response",
        "status": "completed",
        "model": MODELS["openai"],
        "output": [
            {"type": "reasoning", "id": f"rs_{turn}", "summary": [], "encrypted_content": "c2ln"},
            {
                "type": "function_call",
                "id": f"fc_{turn}",
                "call_id": f"t{turn}",
                "name": "read",
                "arguments": '{"path": "\\u00e9"}',
                "status": "completed",
            },
        ],
        "usage": {"input_tokens": 1_000, "output_tokens": 20},
    }


def _google(turn: int) -> dict[str, Any]:
    call = {"name": "read", "args": {"path": f"é{turn}"}}
    return {
        "candidates": [
            {
                "content": {
                    "role": "model",
                    "parts": [{"functionCall": call, "thoughtSignature": "c2ln"}],
                },
                "finishReason": "STOP",
            }
        ],
        "usageMetadata": {"promptTokenCount": 1_000, "candidatesTokenCount": 20},
    }


_ANSWERS = {"anthropic": _anthropic, "openai": _openai, "google": _google}
_MESSAGES = {"anthropic": "messages", "openai": "input", "google": "contents"}


def split(provider: Provider, body: bytes) -> tuple[bytes, bytes]:
    """Split a request into the part before the conversation, and the conversation.

    Both are JSON in the provider's own order of keys, without spaces. The conversation has no
    closing bracket, so that it can be the beginning of a longer one.
    """
    whole: dict[str, Any] = json.loads(body)
    messages = whole.pop(_MESSAGES[provider])
    return _dumped(whole), _dumped(messages).removesuffix(b"]")


def is_prefix_stable(provider: Provider, bodies: list[bytes]) -> bool:
    """Say whether each request begins with the bytes of the previous one."""
    parts = [split(provider, body) for body in bodies]
    return all(
        before[0] == after[0] and after[1].startswith(before[1]) and after[1] != before[1]
        for before, after in pairwise(parts)
    )


def rendered(body: bytes) -> str:
    """Format a request for people: indented, with line breaks in its texts."""
    shown = json.dumps(json.loads(body), indent=1, ensure_ascii=False)
    return shown.replace("\\n", "\n") + "\n"


def _dumped(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
