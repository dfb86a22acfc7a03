"""One agent: what starts it, what it carries from turn to turn, how it can end."""

from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Self, TypedDict, Unpack

from pydantic import BaseModel, Field, JsonValue

from workflows.domain.agent.agent_settings import Effort
from workflows.domain.agent.messages import Message
from workflows.domain.agent.model_values import ModelFacts, Role
from workflows.domain.agent.tool_policy import ToolPolicy
from workflows.domain.budget import Bill
from workflows.domain.environment import ProjectEnvironment
from workflows.domain.evolution import evolve
from workflows.domain.ids import AgentId, Commit, Digest, SessionId, Tree


class AgentLimits(BaseModel, frozen=True, extra="forbid"):
    """Where an agent is stopped; at 80 % of any of them it is told to wrap up."""

    turns: int = Field(gt=0)
    wall: timedelta
    """In all."""
    stall: timedelta | None = None
    """Without progress; None: only `wall` applies."""
    usd: Decimal = Field(ge=0)
    output_tokens: int = Field(default=16_000, gt=0)
    """Of one answer."""
    effort: Effort | None = None
    """How much its models think; None: the provider's default."""


class AgentEnd(StrEnum):
    """How an agent ended."""

    SUBMITTED = "submitted"
    TURN_LIMIT = "turn_limit"
    TIME_LIMIT = "time_limit"
    BUDGET = "budget"
    CAP = "cap"
    """The session's cap left no room for its next call; the ledger tells the session so."""
    STUCK = "stuck"
    REFUSAL = "refusal"
    SILENCE = "silence"
    STOPPED = "stopped"
    PROVIDER = "provider"
    """The provider could not be used: it will not take the request, or does not end an answer."""
    HOST = "host"
    """The host could not run its tools: no sandbox, or a newer attempt owns the worktree."""


class WorktreeRef(BaseModel, frozen=True, extra="forbid"):
    """Names one agent's worktree; the host derives paths and refs from it."""

    session: SessionId
    agent: AgentId
    repository: str
    """The repository's key on the host: a digest of its resolved path."""
    writable: bool
    environment: ProjectEnvironment = ProjectEnvironment()
    """What the commands in it find beside its files."""


class AgentChanges(TypedDict, total=False):
    """What of an agent's state changes, by field."""

    turn: int
    checkpoint: Commit
    tree: Tree | None
    prefix: Digest | None
    conversation: tuple[Message, ...]
    pending: tuple[Message, ...]
    prompt_tokens: int
    granted_usd: Decimal
    bill: Bill
    asks: int
    asks_taken: int
    reminders: int
    repairs: int
    unknown_outcomes: int
    is_warned: bool
    is_stall_told: bool
    progressed: timedelta
    cap_left_usd: Decimal | None
    is_compacted: bool
    model_index: int
    recent: tuple[Digest, ...]
    paused: timedelta
    steers: tuple[str, ...]
    told: tuple[str, ...]
    heard: tuple[str, ...]
    questions: int
    answer: str | None
    is_paused: bool
    stop_reason: str | None


class AgentState(BaseModel, frozen=True, extra="forbid"):
    """All that an agent carries from turn to turn, and over a continuation."""

    turn: int = 0
    """Turns played."""
    checkpoint: Commit
    tree: Tree | None = None
    prefix: Digest | None = None
    """Head of the stored conversation."""
    conversation: tuple[Message, ...] = ()
    """The same conversation in neutral form, sent whole only where the store lost it."""
    pending: tuple[Message, ...] = ()
    """What the next call carries beyond the prefix."""
    prompt_tokens: int = 0
    """Size of the last prompt and its answer, as the provider counted them."""
    granted_usd: Decimal = Decimal(0)
    bill: Bill = Bill()
    """Settled cost, plus the quotes of calls whose outcome is unknown."""
    asks: int = 0
    """Asks sent to the ledger."""
    asks_taken: int = 0
    """The last ask whose grant was taken; below `asks` while one is open."""
    reminders: int = 0
    repairs: int = 0
    unknown_outcomes: int = 0
    """Calls in a row whose outcome is unknown."""
    is_warned: bool = False
    is_stall_told: bool = False
    """True from the word that it makes no progress until it makes some."""
    progressed: timedelta = timedelta(0)
    """How long it had worked when it last made progress."""
    cap_left_usd: Decimal | None = None
    """What the session's cap had left after the last grant; None: not known yet."""
    is_compacted: bool = False
    """True from a compaction until the next answer: a second overflow then ends the agent."""
    model_index: int = 0
    """Which model of the route speaks; it moves on when one cannot be used."""
    recent: tuple[Digest, ...] = ()
    """Fingerprints of the last turns' calls and effects, newest last, at most 3."""
    started_at: datetime
    paused: timedelta = timedelta(0)
    steers: tuple[str, ...] = ()
    """What persons said and no turn has taken up yet."""
    told: tuple[str, ...] = ()
    """What was taken up, and no answer has followed yet."""
    heard: tuple[str, ...] = ()
    """What an answer has followed; a conversation that begins again begins with it."""
    questions: int = 0
    """Questions put to the person."""
    answer: str | None = None
    """What the person answered and the agent has not taken up yet."""
    is_paused: bool = False
    stop_reason: str | None = None
    """Set by the signal `stop`."""

    def evolve(self, **changes: Unpack[AgentChanges]) -> Self:
        """Return it with some fields replaced."""
        return evolve(self, changes)


class AgentRequest(BaseModel, frozen=True, extra="forbid"):
    """What starts an agent."""

    session: SessionId
    agent: AgentId
    role: Role
    route: tuple[ModelFacts, ...] = Field(min_length=1)
    """In order of preference; the next one is taken when one cannot be used."""
    opening: str = Field(min_length=1)
    """The first message: who, which task, which attempt, and what is wanted."""
    steers: tuple[str, ...] = ()
    """What a person said to the task before; heard with the opening."""
    worktree: WorktreeRef
    checkpoint: Commit
    host_queue: str
    ledger: str
    """The ledger's workflow id."""
    claims: tuple[str, ...] = ()
    policy: ToolPolicy = ToolPolicy()
    gate_files: tuple[str, ...] = ()
    """Files that a gate starts; see `Standing`."""
    limits: AgentLimits
    command_timeout: timedelta
    back_off: timedelta = timedelta(seconds=2)
    """The wait after a call of unknown outcome; longer after each further one in a row."""
    turns_per_run: int = Field(default=250, gt=0)
    """After so many turns in one run the workflow continues as new."""
    carried: AgentState | None = None
    """Set by a continuation."""

    def continued(self, state: AgentState) -> Self:
        """Return what starts the next run."""
        return evolve(self, {"carried": state})


class AgentOutcome(BaseModel, frozen=True, extra="forbid"):
    """How it went. The work is in the checkpoint whatever the end."""

    agent: AgentId
    end: AgentEnd
    detail: str = ""
    """One sentence for a person."""
    submission: dict[str, JsonValue] | None = None
    """The arguments of `submit`, `submit_plan` or `submit_verdict`."""
    checkpoint: Commit
    turns: int
    bill: Bill
    model: str
    """The model that spoke last, as `provider/model`."""
    family: str
    unheard: tuple[str, ...] = ()
    """Steering that came too late for it."""

    def at(self, checkpoint: Commit) -> Self:
        """Return the outcome with the work at another checkpoint."""
        return evolve(self, {"checkpoint": checkpoint})
