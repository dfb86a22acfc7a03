"""One agent: what starts it, what it carries from turn to turn, and how it can end."""

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
from workflows.domain.error_count import Hold
from workflows.domain.evolution import evolve
from workflows.domain.ids import AgentId, Commit, Digest, SessionId, Tree


class AgentLimits(BaseModel, frozen=True, extra="forbid"):
    """Where an agent is stopped; at 80 % of any limit it is told to wrap up."""

    turns: int = Field(gt=0)
    wall: timedelta
    """Total time."""
    stall: timedelta | None = None
    """Time without progress; None: only `wall` applies."""
    usd: Decimal = Field(ge=0)
    output_tokens: int = Field(default=16_000, gt=0)
    """Tokens of one answer."""
    effort: Effort | None = None
    """How much the agent's models think; None: the provider's default."""


class AgentEnd(StrEnum):
    """How an agent ended."""

    SUBMITTED = "submitted"
    TURN_LIMIT = "turn_limit"
    TIME_LIMIT = "time_limit"
    BUDGET = "budget"
    CAP = "cap"
    """The session's cap does not cover the agent's next call; the ledger tells the session so."""
    STUCK = "stuck"
    REFUSAL = "refusal"
    SILENCE = "silence"
    STOPPED = "stopped"
    PROVIDER = "provider"
    """The provider refuses what this agent sends, or never completes an answer."""
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
    """What the commands in the worktree find besides its files."""


class AgentChanges(TypedDict, total=False):
    """The changeable fields of an agent's state."""

    turn: int
    checkpoint: Commit
    tree: Tree | None
    folder: str
    prefix: Digest | None
    conversation: tuple[Message, ...]
    pending: tuple[Message, ...]
    prompt_tokens: int
    first_prompt_tokens: int
    granted_usd: Decimal
    bill: Bill
    asks: int
    asks_taken: int
    reminders: int
    repairs: int
    unknown_outcomes: int
    is_warned: bool
    is_stall_told: bool
    is_output_raised: bool
    progressed: timedelta
    cap_left_usd: Decimal | None
    is_compacted: bool
    model_index: int
    skipped: tuple[str, ...]
    most_output: int | None
    recent: tuple[Digest, ...]
    paused: timedelta
    steers: tuple[str, ...]
    told: tuple[str, ...]
    heard: tuple[str, ...]
    questions: int
    answer: str | None
    is_paused: bool
    holds: tuple[Hold, ...]
    resumed: tuple[str, ...]
    resumed_at: datetime | None
    stop_reason: str | None


class AgentState(BaseModel, frozen=True, extra="forbid"):
    """All that an agent carries from turn to turn, and over a continuation."""

    turn: int = 0
    """Turns played."""
    checkpoint: Commit
    tree: Tree | None = None
    folder: str = ""
    """Where its next command starts, relative to the worktree; empty for its root."""
    prefix: Digest | None = None
    """Head of the stored conversation."""
    conversation: tuple[Message, ...] = ()
    """The same conversation in neutral form, sent whole only if the store lost it."""
    pending: tuple[Message, ...] = ()
    """What the next call sends after the prefix."""
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
    """True after the agent was told that it makes no progress, until it makes some."""
    progressed: timedelta = timedelta(0)
    """How long the agent had worked when it last made progress."""
    cap_left_usd: Decimal | None = None
    """What the session's cap had left after the last grant; None: not known yet."""
    is_compacted: bool = False
    """True from a compaction until the next answer: a second overflow then ends the agent."""
    model_index: int = 0
    """Index of the route's model in use; it increases when a model cannot be used."""
    skipped: tuple[str, ...] = ()
    """Models that the session found unusable, as the ledger last told."""
    most_output: int | None = None
    """Tokens of one answer, after the provider refused more; None: as the limits say."""
    recent: tuple[Digest, ...] = ()
    """Fingerprints of the last turns' calls and effects, newest last, at most 3."""
    started_at: datetime
    paused: timedelta = timedelta(0)
    first_prompt_tokens: int = 0
    """The prompt of the conversation's first answer, as the provider counted it."""
    is_output_raised: bool = False
    """An answer was cut at the output limit, so the limit is higher since then."""
    steers: tuple[str, ...] = ()
    """Persons' messages that no turn has taken up yet."""
    told: tuple[str, ...] = ()
    """Messages taken up in a call that is not answered yet."""
    heard: tuple[str, ...] = ()
    """Messages that a model has answered; a new conversation repeats them at its start."""
    questions: int = 0
    """Questions put to the person."""
    answer: str | None = None
    """The person's answer, until the agent takes it up."""
    is_paused: bool = False
    holds: tuple[Hold, ...] = ()
    """What it must wait with, because of too many errors."""
    resumed: tuple[str, ...] = ()
    """Subjects whose hold a person ended; the ledger is told next. Only in older histories."""
    resumed_at: datetime | None = None
    """When a person last let the agent go on: no hold from before that counts."""
    stop_reason: str | None = None
    """Set by the signal `stop`."""

    def evolve(self, **changes: Unpack[AgentChanges]) -> Self:
        """Return a copy with some fields replaced."""
        return evolve(self, changes)


class AgentRequest(BaseModel, frozen=True, extra="forbid"):
    """What starts an agent."""

    session: SessionId
    agent: AgentId
    role: Role
    route: tuple[ModelFacts, ...] = Field(min_length=1)
    """In order of preference; if one cannot be used, the next one is."""
    opening: str = Field(min_length=1)
    """The first message: who, which task, which attempt, and what is wanted."""
    steers: tuple[str, ...] = ()
    """What a person already said about the task; sent with the opening."""
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
    """The workflow continues as new after this many turns in one run."""
    auto_pause_percent: int = 0
    """Above this share of errors it waits; 0: it neither counts nor waits."""
    carried: AgentState | None = None
    """Set by a continuation."""

    def continued(self, state: AgentState) -> Self:
        """Return the request that starts the next run."""
        return evolve(self, {"carried": state})


class AgentOutcome(BaseModel, frozen=True, extra="forbid"):
    """How the agent ended. Whatever the end, its work is in the checkpoint."""

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
    """Messages from persons that came too late for the agent."""
    has_used_tools: bool = True
    """Whether a tool may have run in its worktree, and so have made it."""

    def at(self, checkpoint: Commit) -> Self:
        """Return the outcome with the work at another checkpoint."""
        return evolve(self, {"checkpoint": checkpoint})
