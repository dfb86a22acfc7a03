"""What follows a failed model call, after Temporal has retried what a retry can fix.

A fault concerns one request, one model, or a key with its account. What one agent meets ends at
most that agent; only the last two can concern others.

| fault of            | this agent                            | the others                        |
|---------------------|---------------------------------------|-----------------------------------|
| its request         | changes it, or ends                   | go on                             |
| a model             | moves along its route, or holds       | skip that model                   |
| a key, an account   | moves along its route, or holds       | skip its models for `KEY_SKIPPED` |

Rate limits and overload get here only if the route has another model and the wait is longer than
`LONGEST_WAIT`. They are not billed. The route's last model is retried by Temporal after the
provider's own delay, however long that takes.
"""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Final, Literal

from pydantic import BaseModel

from workflows.domain.agent.messages import AssistantMessage, Message, ToolMessage
from workflows.domain.agent.model_values import ModelFacts
from workflows.domain.budget import FaultKind, ProviderFault
from workflows.errors import UNKNOWN_OUTCOME, FailureType
from workflows.policy.money.amounts_in_words import counted

UNKNOWN_IN_A_ROW: Final = 3
LONGEST_WAIT: Final = timedelta(minutes=10)
"""The longest wait for a model that is not the route's last."""
KEY_SKIPPED: Final = timedelta(minutes=15)
"""How long others skip the models of a refused key; then one asks again."""
LEAST_OUTPUT: Final = 1_000
"""Tokens; an answer with fewer is of no use."""
_FACTOR: Final = 4
_LONGEST: Final = timedelta(minutes=1)

FailedKind = Literal["unknown", "overflow", "output", "key", "model", "blocked", "refused"]
"""`unknown`: may have been billed. `overflow`: the prompt does not fit. `output`: the requested
output does not fit beside it. `key`: the key, its account or its credit. `model`: the model cannot
be used as configured. `blocked`: a filter refuses the prompt. `refused`: anything else that the
provider refuses."""
Step = Literal["again", "less_output", "compact", "next_model", "hold", "end"]
"""`again`: repeat the call. `less_output`: repeat it with half of the output. `compact`: start over
with a summary. `next_model`: use the route's next. `hold`: wait for a person, then repeat the call.
`end`: the agent ends."""


_KINDS: Final[dict[str, FailedKind]] = {
    **dict.fromkeys((*UNKNOWN_OUTCOME, FailureType.OUTCOME_UNKNOWN), "unknown"),
    FailureType.CONTEXT_OVERFLOW: "overflow",
    FailureType.OUTPUT_TOO_LONG: "output",
    FailureType.AUTHENTICATION_FAILED: "key",
    FailureType.CREDIT_EXHAUSTED: "key",
    FailureType.MODEL_UNUSABLE: "model",
    FailureType.PROMPT_BLOCKED: "blocked",
}


def failed_kind(failure: str) -> FailedKind:
    """Classify a failed call by the type of the activity's error."""
    return _KINDS.get(failure, "refused")


class FailedCall(BaseModel, frozen=True, extra="forbid"):
    """The facts about one failed call that decide what follows."""

    kind: FailedKind
    unknown_in_a_row: int = 0
    """Including this call."""
    output_tokens: int = 16_000
    """What was asked for."""
    is_fresh: bool = False
    """The conversation has no answer yet, so nothing can be left out."""
    is_compacted: bool = False
    """The conversation is already being compacted."""
    has_next_model: bool = False


def after_failure(failed: FailedCall) -> Step:
    """Decide what follows; the first matching row counts.

    | the call                          | and                             | what follows       |
    |-----------------------------------|---------------------------------|--------------------|
    | outcome unknown: charged at quote | fewer than three in a row       | again, after a wait|
    | outcome unknown: charged at quote | the third in a row              | end                |
    | too much output asked for         | half of it is not too little    | less output        |
    | context overflow, or that         | of a conversation               | compact            |
    | context overflow, or that         | of the ask for a summary        | again, without one |
    | any other, overflow at the start  | the route has another model     | next model         |
    | of the key or of the model        | it has none                     | hold               |
    | of the request, overflow at start | it has none                     | end                |
    """
    if failed.kind == "unknown":
        return "again" if failed.unknown_in_a_row < UNKNOWN_IN_A_ROW else "end"
    if failed.kind == "output" and failed.output_tokens // 2 >= LEAST_OUTPUT:
        return "less_output"
    if failed.kind in {"overflow", "output"} and not failed.is_fresh:
        return "again" if failed.is_compacted else "compact"
    if failed.has_next_model:
        return "next_model"
    return "hold" if failed.kind in {"key", "model"} else "end"


def back_off(first: timedelta, unknown_in_a_row: int) -> timedelta:
    """Return how long to wait before repeating a call of unknown outcome.

    Args:
        first: the wait after the first one, `AgentRequest.back_off`; each further one in a row is
            four times as long, up to a minute.
        unknown_in_a_row: at least 1.
    """
    return min(first * _FACTOR ** (unknown_in_a_row - 1), _LONGEST)


# --- what others learn from it --------------------------------------------------------------------


def is_known(known: Sequence[ProviderFault], fault: ProviderFault) -> bool:
    """Tell whether a person was told of a fault: of each model once, and of each held agent."""
    return not fault.holds and any(each.is_like(fault) for each in known)


def remembered(known: Sequence[ProviderFault], fault: ProviderFault) -> tuple[ProviderFault, ...]:
    """Return the known faults with one more, which replaces an older one like it."""
    return (*(each for each in known if not each.is_like(fault)), fault)


def skipped(known: Sequence[ProviderFault], now: datetime) -> tuple[str, ...]:
    """Return the models that need not be asked.

    | fault of | skipped           |
    |----------|-------------------|
    | a model  | for the session   |
    | a key    | for `KEY_SKIPPED` |
    | a count  | never             |

    Args:
        known: the session's faults so far.
        now: the time.

    Returns:
        `provider/model` for a model, `provider/*` for a key.
    """
    models = [each.model for each in known if each.kind == "model"]
    keys = [each for each in known if each.kind == "key" and now - each.at < KEY_SKIPPED]
    return (*models, *(f"{each.provider}/*" for each in keys))


def first_usable(route: Sequence[ModelFacts], index: int, unusable: Collection[str]) -> int:
    """Return the index of the first model from `index` on that need not be skipped.

    If all are to be skipped, `index` itself: its answer tells what a person must do.
    """
    places = range(index, len(route))
    return next((place for place in places if not _is_unusable(route[place], unusable)), index)


def _is_unusable(model: ModelFacts, unusable: Collection[str]) -> bool:
    return model.name in unusable or f"{model.provider}/*" in unusable


def fault_text(fault: FaultKind, model: ModelFacts, words: str, *, holds: bool) -> str:
    """Tell a person what a fault means for the session.

    Args:
        fault: its kind.
        model: the model that was asked.
        words: the failure's type and the provider's words.
        holds: an agent waits for a person, because its route has no other model.
    """
    if holds:
        return f"no model can be asked: {model.provider}: {words}"
    if fault == "key":
        minutes = int(KEY_SKIPPED.total_seconds() // 60)
        return f"models of {model.provider} are skipped for {minutes} minutes: {words}"
    if fault == "model":
        return f"{model.name} is skipped in this session: {words}"
    return (
        f"{model.name} reports no usage, or figures that cannot be right: such a call is charged at"
        " its quote and marked as estimated"
    )


# --- what was too big -----------------------------------------------------------------------------


def largest_part(conversation: Sequence[Message]) -> str:
    """Name the longest part of what an agent sent, in words for a person."""
    parts = [part for message in conversation for part in _parts(message)]
    size, name = max(parts, default=(0, "nothing"))
    return f"the longest part is {name}, {counted(size, 'character')}"


def _parts(message: Message) -> list[tuple[int, str]]:
    if isinstance(message, ToolMessage):
        return [(len(each.text), f"the result of {each.name!r}") for each in message.results]
    if isinstance(message, AssistantMessage):
        calls = sum(len(str(call.arguments)) for call in message.tool_calls)
        return [(len(message.text) + calls, "an answer of the model")]
    return [(len(message.text), "the message to the agent")]
