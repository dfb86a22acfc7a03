"""The agent loop's decisions: what follows an answer, when an agent ends, when it is warned.

About money it knows only the agent's own limit; `policy.money` quotes and grants.
"""

import hashlib
import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final, Literal

from pydantic import BaseModel

from workflows.domain.agent.agent_values import AgentEnd, AgentLimits, AgentState
from workflows.domain.agent.messages import ToolCall, ToolResult
from workflows.domain.agent.model_values import ModelFacts, Role
from workflows.domain.ids import Digest, Tree

SUBMITTING: Final = {
    Role.PLANNER: "submit_plan",
    Role.DEVELOPER: "submit",
    Role.REVIEWER: "submit_verdict",
}
"""The tool by which each role says that it is done."""
_CONTRADICTION: Final = (
    "not accepted: this answer holds submissions that contradict each other. Decide, and call"
    " `{name}` once"
)
_CUT: Final = (
    "not counted: the answer was cut after this call. Send what is still missing, then call"
    " `{name}` again"
)
_ASKED: Final = (
    "not counted: the same answer asked a question. Take the person's answer into account, then"
    " call `{name}` again"
)
_FAILED: Final = (
    "not counted: {failed} failed in the same answer. Read what went wrong and decide: fix it, or"
    " call `{name}` again, alone, if nothing is left to do"
)
_SAID_TWICE: Final = "the same answer submitted twice: see the first submission's result"

REMINDERS: Final = 2
SAME_TURNS: Final = 3
WRAP_UP_SHARE: Final = 0.8
COMPACTION_SHARE: Final = 0.85
COMPACTED_SHARE: Final = 0.35
"""What a conversation may begin with: a compaction frees at least half of the window."""
BYTES_PER_TOKEN: Final = 3
"""For ordinary text; a quote counts one byte as a token, which no text exceeds."""
FIXED_BYTES: Final = 6_000
"""System prompt and tools, which the first prompt holds besides the messages."""
RESULT_BYTES: Final = 30_000
"""The usual maximum that one turn's results add to the prompt: three results shown whole."""


class Answer(BaseModel, frozen=True, extra="forbid"):
    """The facts about one model answer that decide the next move."""

    stop: Literal["end", "tool_calls", "truncated", "refusal", "pause", "malformed", "unknown"]
    tool_calls: tuple[ToolCall, ...]


class Move(BaseModel, frozen=True, extra="forbid"):
    """What follows one answer."""

    kind: Literal["run", "remind", "end"]
    run: tuple[ToolCall, ...] = ()
    """All calls but submissions, in order; an unreadable submission is among them."""
    submitted: ToolCall | None = None
    """The submission, judged after `run`, wherever in the answer it is."""
    fault: str = ""
    """What is wrong with the submission as a whole; sent as its answer, and it is not accepted."""
    not_yet: str = ""
    """Why the submission does not count in this turn, although nothing is wrong with it."""
    again: tuple[ToolCall, ...] = ()
    """Further submissions; they are answered only."""
    text: str = ""
    """The reminder."""
    end: AgentEnd | None = None


def next_move(role: Role, answer: Answer, reminders: int) -> Move:
    """Decide what follows an answer.

    | answer                        | move                                    |
    |-------------------------------|-----------------------------------------|
    | refusal                       | end: refusal                            |
    | tool calls                    | run all others, then judge a submission |
    | submissions that differ       | the same, and none is accepted          |
    | cut behind a submission       | the same, and it does not count         |
    | none, two reminders given     | end: silence                            |
    | none, cut or paused or other  | remind, in words that fit               |
    """
    if answer.stop == "refusal":
        return Move(kind="end", end=AgentEnd.REFUSAL)
    if answer.tool_calls:
        return _run(role, answer)
    if reminders >= REMINDERS:
        return Move(kind="end", end=AgentEnd.SILENCE)
    return Move(kind="remind", text=_reminder(SUBMITTING[role], answer.stop))


def _run(role: Role, answer: Answer) -> Move:
    name = SUBMITTING[role]
    submissions = [
        call for call in answer.tool_calls if call.name == name and call.malformed is None
    ]
    run = tuple(call for call in answer.tool_calls if call not in submissions)
    if not submissions:
        return Move(kind="run", run=run)
    first, *again = submissions
    differ = any(each.arguments != first.arguments for each in again)
    is_cut = answer.stop in {"truncated", "malformed"}
    return Move(
        kind="run",
        run=run,
        submitted=first,
        fault=_CONTRADICTION.format(name=name) if differ else "",
        not_yet=_CUT.format(name=name) if is_cut else "",
        again=tuple(again),
    )


def not_counted(submission: ToolCall, failed: Sequence[str], *, has_asked: bool) -> str:
    """Say why a submission does not count after the turn's other calls; empty if it does.

    Args:
        submission: of the same turn.
        failed: the tools whose calls in this turn failed, a command that did not exit with 0
            included.
        has_asked: the turn also put a question to the person.
    """
    if has_asked:
        return _ASKED.format(name=submission.name)
    if not failed:
        return ""
    names = ", ".join(f"`{name}`" for name in dict.fromkeys(failed))
    return _FAILED.format(failed=names, name=submission.name)


def said_twice(call: ToolCall) -> ToolResult:
    """Answer a further submission of one answer."""
    return ToolResult(call_id=call.id, name=call.name, text=_SAID_TWICE, is_error=True)


def _reminder(submitting: str, stop: str) -> str:
    if stop == "truncated":
        return "Your answer was cut at the output limit. Go on in smaller steps, with a tool call."
    if stop == "malformed":
        return (
            "Your tool call could not be read. Send it again, with its arguments as a JSON object."
        )
    if stop == "unknown":
        return "Your answer ended for an unknown reason. Go on, with a tool call."
    if stop == "pause":
        return "Go on."
    return f"You called no tool. Use a tool to go on, or call `{submitting}` when you are done."


def limit_reached(state: AgentState, limits: AgentLimits, now: datetime) -> AgentEnd | None:
    """Say which of the agent's own limits, if any, stops it before its next turn."""
    if state.turn >= limits.turns:
        return AgentEnd.TURN_LIMIT
    if elapsed(state, now) >= limits.wall:
        return AgentEnd.TIME_LIMIT
    if limits.stall is not None and stalled(state, now) >= limits.stall:
        return AgentEnd.STUCK
    return None


def is_wrap_up_due(
    state: AgentState, limits: AgentLimits, now: datetime, *, is_last_call: bool = False
) -> bool:
    """Say whether to tell the agent now, once, that it nears a limit.

    | used                                    | due |
    |-----------------------------------------|-----|
    | already told                            | no  |
    | `WRAP_UP_SHARE` of turns, time or money | yes |
    | all turns but one                       | yes |
    | money for one more call only            | yes |
    | less                                    | no  |

    Args:
        state: the agent's state.
        limits: the agent's limits.
        now: the time.
        is_last_call: see `is_last_call`.
    """
    if state.is_warned:
        return False
    return (
        is_last_call
        or state.turn >= min(WRAP_UP_SHARE * limits.turns, limits.turns - 1)
        or elapsed(state, now) >= WRAP_UP_SHARE * limits.wall
        or (limits.usd > 0 and float(state.bill.usd) >= WRAP_UP_SHARE * float(limits.usd))
    )


def is_last_call(
    state: AgentState, limits: AgentLimits, next_usd: Decimal, after_usd: Decimal
) -> bool:
    """Say whether the money may not suffice for any call after the next one.

    Args:
        state: the agent's, with its grant and what the session's cap has left.
        limits: the agent's limits.
        next_usd: the quote of the next call.
        after_usd: the quote of the call after it, with a longer prompt.
    """
    left = limits.usd - state.bill.usd
    if state.cap_left_usd is not None:
        left = min(left, state.granted_usd + state.cap_left_usd - state.bill.usd)
    return left < next_usd + after_usd


def is_stall_told_due(state: AgentState, limits: AgentLimits, now: datetime) -> bool:
    """Say whether to tell the agent that it makes no progress: at 80 % of its `stall_time`."""
    if state.is_stall_told or limits.stall is None:
        return False
    return stalled(state, now) >= WRAP_UP_SHARE * limits.stall


def is_progress(role: Role, before: Tree | None, after: Tree | None, *, is_repeated: bool) -> bool:
    """Say whether a turn was progress; a turn without tool calls never is.

    | role      | the turn                                    | progress |
    |-----------|---------------------------------------------|----------|
    | developer | left another tree than the one before       | yes      |
    | developer | left the same tree                          | no       |
    | other     | had another call or effect than those before| yes      |
    | other     | was one of the last turns again             | no       |

    Args:
        role: the agent's role; only developers write.
        before: the tree before the turn; None: before the first turn.
        after: the tree after it.
        is_repeated: the turn's fingerprint is among those of the last turns.
    """
    return before != after if role is Role.DEVELOPER else not is_repeated


def stalled(state: AgentState, now: datetime) -> timedelta:
    """Return how long the agent has worked since its last progress."""
    return elapsed(state, now) - state.progressed


def elapsed(state: AgentState, now: datetime) -> timedelta:
    """Return how long the agent has worked, without pauses."""
    return now - state.started_at - state.paused


def fingerprint(
    calls: Sequence[ToolCall], results: Sequence[ToolResult], tree: str, folder: str = ""
) -> Digest:
    """Return a digest over a turn's calls, their results, and the tree and folder after them."""
    facts = [
        [[call.name, call.arguments, call.malformed] for call in calls],
        [[result.text, result.is_error] for result in results],
        tree,
        folder,
    ]
    return Digest(hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest())


def is_stuck(recent: Sequence[Digest]) -> bool:
    """Say whether the last three turns were the same call with the same effect."""
    last = recent[-SAME_TURNS:]
    return len(last) == SAME_TURNS and len(set(last)) == 1


def is_repetition(recent: Sequence[Digest]) -> bool:
    """Say whether the last two turns were the same call with the same effect."""
    last = recent[-SAME_TURNS + 1 :]
    return len(last) == SAME_TURNS - 1 and len(set(last)) == 1


def is_compaction_due(
    state: AgentState, model: ModelFacts, pending_bytes: int, output_tokens: int
) -> bool:
    """Say whether the next prompt would come near the model's window.

    Args:
        state: the agent's state.
        model: the model in use.
        pending_bytes: size of the messages to be sent, in UTF-8.
        output_tokens: the agent's limit for one answer.
    """
    if state.prefix is None or state.is_compacted:
        return False
    room = prompt_room(model, output_tokens)
    likely = state.prompt_tokens + pending_bytes // BYTES_PER_TOKEN
    return likely > COMPACTION_SHARE * room


def prompt_room(model: ModelFacts, output_tokens: int) -> int:
    """Return how many tokens of a model's window are left for the prompt.

    Args:
        model: the model in use.
        output_tokens: the agent's limit for one answer.
    """
    return model.window_tokens - max_output_tokens(model, output_tokens)


def frees_too_little(state: AgentState, model: ModelFacts, output_tokens: int) -> bool:
    """Say whether a compaction would free less than half of the window.

    What the conversation began with is in the next one as well: the opening, and the last summary.
    """
    return state.first_prompt_tokens > COMPACTED_SHARE * prompt_room(model, output_tokens)


def is_window_too_small(model: ModelFacts, pending_bytes: int, output_tokens: int) -> bool:
    """Say whether a new conversation and one answer do not fit a model's window.

    Args:
        model: the model in use.
        pending_bytes: size of the opening, in UTF-8.
        output_tokens: the agent's limit for one answer.
    """
    likely = (FIXED_BYTES + pending_bytes) // BYTES_PER_TOKEN
    return likely > prompt_room(model, output_tokens)


def most_prompt_tokens(state: AgentState, pending_bytes: int) -> int:
    """Bound the next prompt's tokens: the provider's last count, plus the new messages.

    Args:
        state: the agent's state.
        pending_bytes: size of the messages to be sent after the stored conversation, in UTF-8.
    """
    fixed = 0 if state.prefix else FIXED_BYTES
    return state.prompt_tokens + fixed + pending_bytes


def output_limit(state: AgentState, limits: AgentLimits) -> int:
    """Return the agent's limit for one answer: doubled, once, after an answer was cut there."""
    return limits.output_tokens * (2 if state.is_output_raised else 1)


def max_output_tokens(model: ModelFacts, limit: int) -> int:
    """Return how many tokens one answer may have: the agent's limit, within the model's.

    At most half of the window, because some models have no limit of their own but the window.
    """
    return min(model.max_output_tokens, limit, -(-model.window_tokens // 2))
