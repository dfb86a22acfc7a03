"""The interface of a simulator's dialect, and the checks that all dialects share."""

import base64
import binascii
import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from activities.adapters.models.scripted.answer_choice import Place, ScriptedAnswer
from activities.adapters.models.scripted.playbook import ScriptedError
from activities.text.foreign_json import Json, table
from activities.text.surrogates import clean
from workflows.domain.agent.messages import Message, ToolCall

_MAC_BYTES = 96


class RefusedError(Exception):
    """The real provider would not accept the request; the answer is a 400 with this text."""


class WireRequest(NamedTuple):
    """One parsed request."""

    model: str
    conversation: Sequence[Message]
    stamps: Sequence[tuple[int, str]]
    """For each signature that came back: the index of its assistant message, and its content."""
    schema: Json | None = None
    """Not None: asks for nothing but JSON by this JSON Schema, without tools."""
    custom_tools: frozenset[str] = frozenset()
    """The tools that take text instead of arguments."""
    namespaces: Mapping[str, str] = {}
    """The namespace of each tool that has one."""


class Failure(NamedTuple):
    """One error response."""

    status: int
    body: Json
    headers: Mapping[str, str] = {}


class Dialect(Protocol):
    """One provider's wire format."""

    name: str

    def key(self, headers: Mapping[str, str]) -> str:
        """Return the key in the request; empty: none."""
        ...

    def read(self, body: Json) -> WireRequest:
        """Parse a request body.

        Raises:
            RefusedError: the real provider would refuse it.
        """
        ...

    def render(self, spoken: ScriptedAnswer, place: Place, request: WireRequest) -> Json:
        """Word an answer to a request."""
        ...

    def fail(self, error: ScriptedError, message: str) -> Failure:
        """Word a failure."""
        ...

    def limits(self, used: int) -> Mapping[str, str]:
        """Return the rate-limit headers after `used` requests."""
        ...


def stamp(dialect: str, place: Place, thought: str) -> str:
    """Make a signature that can be checked later without being stored."""
    says = mark(place)
    return base64.b64encode(_mac(dialect, says, thought) + says.encode()).decode()


def mark(place: Place) -> str:
    """Word a place in one line."""
    return f"{place.role}|{place.task or ''}|{place.attempt}|{place.turn}"


def check_stamp(dialect: str, signature: object, thought: str) -> str:
    """Return the content of a signature.

    Raises:
        RefusedError: it did not come back byte for byte, or is on another thought.
    """
    try:
        raw = base64.b64decode(str(signature).encode(), validate=True)
        says = raw[_MAC_BYTES:].decode()
    except (binascii.Error, UnicodeError):
        raise RefusedError("the signature is not valid base64") from None
    if raw[:_MAC_BYTES] != _mac(dialect, says, thought):
        raise RefusedError("the signature does not belong to this content")
    return says


def wanted_schema(body: Json, form: Json, key: str) -> Json | None:
    """Return the JSON Schema that an answer must follow; None: it need not, or may call tools.

    Args:
        body: the request's.
        form: the part of it that describes the answer's format.
        key: the schema's key there.
    """
    return None if body.get("tools") else table(form.get(key)) or None


def called(call_id: str, name: str, arguments: object) -> ToolCall:
    """Parse a call of the conversation; arguments that are not an object are dropped."""
    return ToolCall.model_validate({"id": call_id, "name": name, "arguments": table(arguments)})


def require(condition: object, message: str) -> None:
    """Refuse the request unless `condition` holds."""
    if not condition:
        raise RefusedError(message)


def made_up_id(prefix: str, place: Place, index: int) -> str:
    """Make an id that differs for each call of each agent, and is the same in every run."""
    digest = hashlib.sha256(f"{mark(place)}|{index}".encode()).hexdigest()
    return f"{prefix}{digest[:20]}"


def thought_of(place: Place) -> str:
    """Word the simulated model's pretended thought."""
    return f"The playbook knows what comes at turn {place.turn}."


def seconds(wait: float | str) -> str:
    """Format seconds, whole ones without a point, as servers do."""
    is_whole = not isinstance(wait, str) and math.isfinite(wait) and wait == int(wait)
    return str(int(wait)) if is_whole else str(wait)


def _mac(dialect: str, says: str, thought: str) -> bytes:
    # Half of a surrogate pair comes back replaced, so the replaced form is signed.
    seed = f"{dialect}\0{says}\0{clean(thought)}".encode()
    return b"".join(hashlib.sha256(seed + bytes([n])).digest() for n in range(3))
