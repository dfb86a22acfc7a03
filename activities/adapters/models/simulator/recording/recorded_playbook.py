"""Turns what was recorded into a playbook: one turn per place, however often it was requested.

| at one place                        | the turn                                                 |
|-------------------------------------|----------------------------------------------------------|
| an answer                           | the answer                                               |
| failures, then an answer            | the answer, after as many failures, all like the last    |
| failures only                       | the last failure, each time                              |
| several answers                     | the last one                                             |
| an answer to the call for a summary | the playbook's only `compaction`; the last one counts    |

It decides nothing about bytes, files or secrets.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta

from activities.adapters.models.scripted.answer_choice import Place
from activities.adapters.models.scripted.playbook import (
    ErrorKind,
    Playbook,
    Scene,
    ScriptedCall,
    ScriptedError,
    ScriptedTurn,
    ScriptedUsage,
)
from activities.adapters.models.simulator.recording.captured_answer import Captured
from activities.ports.model_provider import (
    AuthenticationFailedError,
    ContextOverflowError,
    CreditExhaustedError,
    ModelError,
    ModelReply,
    OutcomeUnknownError,
    ProviderUnavailableError,
    RateLimitedError,
)
from workflows.domain.agent.model_values import Role, Usage

_KINDS: tuple[tuple[type[ModelError], ErrorKind], ...] = (
    (RateLimitedError, "rate_limited"),
    (ProviderUnavailableError, "unavailable"),
    (CreditExhaustedError, "credit"),
    (AuthenticationFailedError, "auth"),
    (ContextOverflowError, "context_overflow"),
)
Agent = tuple[str, str | None, int]


@dataclass
class _Take:
    failures: list[ScriptedError] = field(default_factory=list[ScriptedError])
    said: ScriptedTurn | None = None


class Takes:
    """All recorded answers."""

    def __init__(self, name: str) -> None:
        """Args: the playbook's name."""
        self._name = name
        self._agents: dict[Agent, dict[int, _Take]] = {}
        self._compaction = ""

    def answered(self, place: Place, reply: ModelReply) -> list[str]:
        """Take an answer; return remarks for a person."""
        if place.is_compaction:
            return self._summarised(reply)
        take = self._take(place)
        told = [] if take.said is None else ["it was answered before; the last answer is kept"]
        if reply.usage.is_estimated:
            told.append("the server counts no tokens; it is recorded without usage")
        take.said = scripted_turn(reply)
        return told

    def failed(self, place: Place, failure: ModelError, captured: Captured) -> list[str]:
        """Take a failure; return remarks for a person."""
        if place.is_compaction:
            return ["a failed call for a summary has no place in a playbook"]
        take, error = self._take(place), scripted_error(failure, captured)
        told: list[str] = []
        if take.failures and take.failures[-1].kind != error.kind:
            told.append(f"of its failures only {error.kind!r} is kept, for all of them")
        if isinstance(failure, OutcomeUnknownError):
            told.append(f"its end was not seen, so it is recorded as {error.kind!r} ({failure})")
        take.failures.append(error)
        return told

    def calls(self, place: Place) -> int:
        """Return how many calls the turn at `place` has; 0: it was not recorded."""
        takes = self._agents.get((place.role, place.task, place.attempt), {})
        take = takes.get(place.turn, _Take())
        return 0 if take.said is None else len(take.said.calls)

    def playbook(self) -> Playbook | None:
        """Return what was recorded so far; None: nothing that has a place."""
        scenes = tuple(
            scene for agent, takes in self._agents.items() for scene in _scenes(agent, takes)
        )
        if not scenes:
            return None
        more = {"compaction": self._compaction} if self._compaction else {}
        return Playbook.model_validate({"schema": 1, "name": self._name, "scenes": scenes, **more})

    @property
    def counts(self) -> tuple[int, int]:
        """Return the number of turns and of agents."""
        return sum(map(len, self._agents.values())), len(self._agents)

    def left_open(self) -> list[Place]:
        """Return the turns that failed each time; a replay also fails there, and stops."""
        return [
            Place(*agent, number)
            for agent, takes in self._agents.items()
            for number, take in sorted(takes.items())
            if take.said is None
        ]

    def unheard(self) -> list[Place]:
        """Return the first turn of each gap, where a playbook has no answer."""
        return [
            Place(*agent, number)
            for agent, takes in self._agents.items()
            for number in range(1, max(takes))
            if number not in takes and (number == 1 or number - 1 in takes)
        ]

    def _take(self, place: Place) -> _Take:
        agent = (place.role, place.task, place.attempt)
        return self._agents.setdefault(agent, {}).setdefault(place.turn, _Take())

    def _summarised(self, reply: ModelReply) -> list[str]:
        said = reply.message.text
        if not said.strip():
            return ["the summary is empty; the playbook keeps its own"]
        told = self._compaction not in {"", said}
        self._compaction = said
        return ["a playbook has one summary for all; the last one is kept"] if told else []


def scripted_turn(reply: ModelReply) -> ScriptedTurn:
    """Return a reply as a turn of a playbook."""
    calls = tuple(
        ScriptedCall(name=c.name, arguments=c.arguments if c.malformed is None else c.malformed)
        for c in reply.message.tool_calls
    )
    usual = "tool_calls" if calls else "end"
    is_silent = not calls and not reply.message.text
    return ScriptedTurn(
        text=reply.message.text,
        calls=calls,
        usage=_usage(reply.usage),
        stop=reply.stop if is_silent or reply.stop != usual else None,
    )


def scripted_error(failure: ModelError, captured: Captured) -> ScriptedError:
    """Return a failure as an error of a playbook."""
    if isinstance(failure, OutcomeUnknownError):
        return ScriptedError(kind="disconnect" if captured.ending == "broken" else "cut")
    kind: ErrorKind = "invalid"
    for each, its in _KINDS:
        kind = its if isinstance(failure, each) else kind
    wait: timedelta | None = None
    if isinstance(failure, RateLimitedError | ProviderUnavailableError):
        wait = failure.retry_after
    return ScriptedError(kind=kind, retry_after=None if wait is None else wait.total_seconds())


def _usage(usage: Usage) -> ScriptedUsage:
    if usage.is_estimated:
        return ScriptedUsage()
    return ScriptedUsage.model_validate(usage.model_dump(exclude_defaults=True))


def _scenes(agent: Agent, takes: dict[int, _Take]) -> Iterator[Scene]:
    """Return a scene for each run of turns without a gap."""
    role, task, attempt = agent
    run: list[int] = []
    for number in sorted(takes):
        if run and number != run[-1] + 1:
            yield _scene(role, task, attempt, run, takes)
            run = []
        run.append(number)
    yield _scene(role, task, attempt, run, takes)


def _scene(
    role: str, task: str | None, attempt: int, run: list[int], takes: dict[int, _Take]
) -> Scene:
    return Scene(
        role=Role(role),
        task=task,
        attempt=attempt,
        turn=None if run[0] == 1 else run[0],
        turns=tuple(_turn(takes[number]) for number in run),
    )


def _turn(take: _Take) -> ScriptedTurn:
    said = take.said
    if said is None:
        return ScriptedTurn(error=take.failures[-1])
    if not take.failures:
        return said
    last = take.failures[-1]
    error = ScriptedError(kind=last.kind, retry_after=last.retry_after, times=len(take.failures))
    return ScriptedTurn(
        text=said.text, calls=said.calls, usage=said.usage, stop=said.stop, error=error
    )
