"""The agent loop's decisions: what an answer leads to, when an agent ends, when it is warned.

Says nothing of money beyond the agent's own limit; `policy.money` quotes and grants.
"""

import hashlib
import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, Literal

from pydantic import BaseModel

from workflows.domain.agent.agent_values import AgentEnd, AgentLimits, AgentState
from workflows.domain.agent.messages import ToolCall, ToolResult
from workflows.domain.agent.model_values import ModelFacts, Role
from workflows.domain.ids import Digest

SUBMITTING: Final = {
    Role.PLANNER: "submit_plan",
    Role.DEVELOPER: "submit",
    Role.REVIEWER: "submit_verdict",
}
"""The tool by which each role says that it is done."""
_CONTRADICTION: Final = (
    "not accepted: this answer holds verdicts that contradict each other. Decide, and call"
    " `submit_verdict` once"
)

REMINDERS: Final = 2
SAME_TURNS: Final = 3
WRAP_UP_SHARE: Final = 0.8
COMPACTION_SHARE: Final = 0.85
BYTES_PER_TOKEN: Final = 3
"""An ordinary text's; for a quote a token is taken to be one byte, which no text passes."""
FIXED_BYTES: Final = 6_000
"""System prompt and tools, which are in the first prompt beside the messages."""


class Answer(BaseModel, frozen=True, extra="forbid"):
    """What matters of one model answer."""

    stop: Literal["end", "tool_calls", "truncated", "refusal", "pause", "malformed"]
    tool_calls: tuple[ToolCall, ...]


class Move(BaseModel, frozen=True, extra="forbid"):
    """What one answer leads to."""

    kind: Literal["run", "remind", "end"]
    run: tuple[ToolCall, ...] = ()
    """Calls for the host, in order."""
    submitted: ToolCall | None = None
    """The submission, after `run`."""
    fault: str = ""
    """What is wrong with the submission as a whole; it is answered with that, and not accepted."""
    unheard: tuple[ToolCall, ...] = ()
    """Calls that came after the submission; they are answered, not run."""
    text: str = ""
    """The reminder."""
    end: AgentEnd | None = None


def next_move(role: Role, answer: Answer, reminders: int) -> Move:
    """Decide what an answer leads to.

    | answer                        | move                                    |
    |-------------------------------|-----------------------------------------|
    | refusal                       | end: refusal                            |
    | tool calls                    | run those before a submission, then it  |
    | two verdicts that contradict  | the same, and neither is accepted       |
    | none, two reminders given     | end: silence                            |
    | none, cut or paused or other  | remind, in words that fit               |
    """
    if answer.stop == "refusal":
        return Move(kind="end", end=AgentEnd.REFUSAL)
    if answer.tool_calls:
        return _run(SUBMITTING[role], answer.tool_calls)
    if reminders >= REMINDERS:
        return Move(kind="end", end=AgentEnd.SILENCE)
    return Move(kind="remind", text=_reminder(SUBMITTING[role], answer.stop))


def _run(submitting: str, calls: tuple[ToolCall, ...]) -> Move:
    for place, call in enumerate(calls):
        if call.name == submitting and call.malformed is None:
            rest = calls[place + 1 :]
            fault = _CONTRADICTION if _contradicts(call, rest) else ""
            return Move(kind="run", run=calls[:place], submitted=call, unheard=rest, fault=fault)
    return Move(kind="run", run=calls)


def _contradicts(verdict: ToolCall, rest: Sequence[ToolCall]) -> bool:
    """Tell whether a later verdict in the same answer says the opposite; only verdicts can."""
    others = [each for each in rest if each.name == verdict.name == SUBMITTING[Role.REVIEWER]]
    said = verdict.arguments.get("approve")
    return any(each.malformed is None and each.arguments.get("approve") != said for each in others)


def _reminder(submitting: str, stop: str) -> str:
    if stop == "truncated":
        return "Your answer was cut at the output limit. Go on in smaller steps, with a tool call."
    if stop == "malformed":
        return (
            "Your tool call could not be read. Send it again, with its arguments as a JSON object."
        )
    if stop == "pause":
        return "Go on."
    return f"You called no tool. Use a tool to go on, or call `{submitting}` when you are done."


def limit_reached(state: AgentState, limits: AgentLimits, now: datetime) -> AgentEnd | None:
    """Say which limit of its own stops the agent before its next turn, if any."""
    if state.turn >= limits.turns:
        return AgentEnd.TURN_LIMIT
    if elapsed(state, now) >= limits.wall:
        return AgentEnd.TIME_LIMIT
    return None


def is_wrap_up_due(state: AgentState, limits: AgentLimits, now: datetime) -> bool:
    """Say whether the agent has used `WRAP_UP_SHARE` of any limit and was not told yet."""
    if state.is_warned:
        return False
    return (
        state.turn >= WRAP_UP_SHARE * limits.turns
        or elapsed(state, now) >= WRAP_UP_SHARE * limits.wall
        or (limits.usd > 0 and float(state.bill.usd) >= WRAP_UP_SHARE * float(limits.usd))
    )


def elapsed(state: AgentState, now: datetime) -> timedelta:
    """Return how long the agent has worked, pauses not counted."""
    return now - state.started_at - state.paused


def fingerprint(calls: Sequence[ToolCall], results: Sequence[ToolResult], tree: str) -> Digest:
    """Return a digest over a turn's calls, their results and the tree after them."""
    facts = [
        [[call.name, call.arguments] for call in calls],
        [[result.text, result.is_error] for result in results],
        tree,
    ]
    return Digest(hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest())


def is_stuck(recent: Sequence[Digest]) -> bool:
    """Say whether the last three turns were the same call with the same effect."""
    last = recent[-SAME_TURNS:]
    return len(last) == SAME_TURNS and len(set(last)) == 1


def is_compaction_due(state: AgentState, model: ModelFacts, pending_bytes: int) -> bool:
    """Say whether the next prompt would come near the model's window."""
    if state.prefix is None or state.is_compacted:
        return False
    room = model.window_tokens - max_output_tokens(model)
    likely = state.prompt_tokens + pending_bytes // BYTES_PER_TOKEN
    return likely > COMPACTION_SHARE * room


def most_prompt_tokens(state: AgentState, pending_bytes: int) -> int:
    """Bound the next prompt's tokens: what the provider counted last, plus what is new.

    Args:
        state: the agent's.
        pending_bytes: of the messages to be sent beyond the stored conversation, in UTF-8.
    """
    fixed = 0 if state.prefix else FIXED_BYTES
    return state.prompt_tokens + fixed + pending_bytes


def max_output_tokens(model: ModelFacts) -> int:
    """Return how many tokens one answer may have: enough for a large file, and quoted in full."""
    return min(model.max_output_tokens, 16_000)
