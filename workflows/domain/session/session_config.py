"""A session's configuration, part of its input, so later edits affect neither replay nor prices."""

from datetime import timedelta
from typing import Annotated, Final, Literal

from pydantic import AliasChoices, BaseModel, Field, StringConstraints

from workflows.domain.agent.agent_settings import AgentSettings
from workflows.domain.agent.model_values import GivenFacts
from workflows.domain.agent.tool_policy import ToolPolicy
from workflows.domain.budget import Caps
from workflows.domain.environment import ProjectEnvironment
from workflows.domain.gate import GateSpec
from workflows.domain.session.notification import NotificationKind
from workflows.domain.session.session_modes import Pacing
from workflows.domain.violation import DiffLimits

ModelName = Annotated[
    str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,31}/[A-Za-z0-9._:/@+-]{1,200}$")
]
"""`provider/model`, as in `anthropic/claude-sonnet-5-5`, `scripted/alpha` or, on a server that a
person named, `local/qwen3-coder`."""


class Approvals(BaseModel, frozen=True, extra="forbid"):
    """What a person decides and what is decided automatically."""

    plan: Literal["ask", "auto"] = "ask"
    changeset: Literal["ask", "auto_if_green"] = "ask"
    unjudged: Literal["ask", "allow"] = "ask"
    """What a rule does with work that no gate judged: leave it to a person, or approve it."""
    unjudged_base: Literal["stop", "allow"] = "stop"
    """What a session does if no gate judged the base: end before anything is paid, or continue."""
    questions: Literal["ask", "auto"] = "ask"
    """`auto`: no one is there to answer agents; they are told at once to decide themselves."""


class Concurrency(BaseModel, frozen=True, extra="forbid"):
    """How many agents (plan, develop, validate) or changesets (merge) run at once."""

    plan: int = Field(default=1, ge=1, le=1)
    develop: int = Field(default=4, ge=1, le=64)
    validation: int = Field(
        default=2, ge=1, le=64, validation_alias=AliasChoices("validate", "validation")
    )
    merge: int = Field(default=1, ge=1, le=1)


class Routes(BaseModel, frozen=True, extra="forbid"):
    """An ordered list of models for each role."""

    planner: tuple[ModelName, ...] = Field(min_length=1)
    developer: tuple[ModelName, ...] = Field(min_length=1)
    reviewer: tuple[ModelName, ...] = Field(min_length=1)
    """Models of the author's family are asked only if there is no other."""


HostPattern = Annotated[str, StringConstraints(min_length=1, max_length=260)]
"""A host's name, `name:port`, or `*.name` for all names below it; `policy.network.host_list`
reads it."""


SETUP_TIMEOUT: Final = timedelta(minutes=10)
"""The time limit of each set-up command, unless configured."""


MOST_COMMITS: Final = 1_000_000
HistoryDepth = Literal["auto", "full"] | Annotated[int, Field(ge=1, le=MOST_COMMITS)]
"""How much of the base's history a worktree shows: all of it, so many commits deep, or all unless
it is large."""


class WorktreeConfig(BaseModel, frozen=True, extra="forbid"):
    """What a worktree needs besides the files in git."""

    setup: tuple[tuple[str, ...], ...] = ()
    """Commands (argument lists) run in the sandbox, once for all trees with the same inputs."""
    setup_timeout: timedelta = SETUP_TIMEOUT
    """The time limit of each of them."""
    network: Annotated[tuple[HostPattern, ...], Field(max_length=100)] = ()
    """Hosts that set-up alone may reach; with no entry it has no network."""
    copies: tuple[str, ...] = Field(default=(), validation_alias=AliasChoices("copy", "copies"))
    """`copy` in the file: ignored files, folders and patterns of the checkout that builds need;
    secrets are refused."""
    allow_secret: tuple[str, ...] = ()
    """Files of `copied` that may be copied although they look secret."""
    history: HistoryDepth = "auto"


Trailer = Literal["session", "task", "attempt", "co_author"]


class CommitsConfig(BaseModel, frozen=True, extra="forbid"):
    """What the commits of the session's branch look like."""

    history: Literal["squash", "keep"] = "squash"
    """One commit for each task, or one for each turn that changed files."""
    author: Literal["blueflame", "me"] = "blueflame"
    """`me`: the person whose repository it is, as their git names them."""
    committer: Literal["blueflame", "me"] | None = None
    """None: the author; with a signature, the person who signs."""
    trailers: tuple[Trailer, ...] = ("session", "task", "attempt", "co_author")
    """The trailers of messages. `co_author` names Blue Flame where it is not the author."""
    sign: Literal["auto", "always", "never"] = "auto"
    """`auto`: if the person's git signs commits; without a signature if the key cannot be used."""

    @property
    def is_plain(self) -> bool:
        """Whether commits are delivered as they were made, unless git is set up to sign them."""
        return self == CommitsConfig(history=self.history, sign=self.sign)


class PullRequestConfig(BaseModel, frozen=True, extra="forbid"):
    """How `deliver: pull_request` proposes the work."""

    remote: str = Field(default="origin", min_length=1, max_length=200)
    """The remote of the person's repository to which branches are pushed."""
    target: Annotated[str, StringConstraints(min_length=1, max_length=250)] | None = None
    """The branch to merge into; None: the branch that the session started from."""
    per: Literal["session", "changeset"] = "session"
    """One for the whole session, or a stack with one for each merged changeset."""
    poll: timedelta = timedelta(minutes=1)
    """How often checks and reviews are looked at, at first; less often while nothing changes."""
    follow: timedelta | None = None
    """How long a session that is done stays open to follow its pull requests; None: it ends."""
    feedback: Literal["ask", "auto"] = "ask"
    """Whether a person or this rule starts a rework: a task for what checks and reviews ask for."""
    rounds: int = Field(default=1, ge=0, le=20)
    """How many reworks a session starts at most."""


class SessionConfig(BaseModel, frozen=True, extra="forbid"):
    """All settings of one session."""

    pacing: Pacing = Pacing.WAVE
    approvals: Approvals = Approvals()
    concurrency: Concurrency = Concurrency()
    routes: Routes
    catalogue: dict[ModelName, GivenFacts] = Field(default_factory=dict[ModelName, GivenFacts])
    """What the person states about models; it overrides known facts."""
    budget: Caps = Caps()
    gates: tuple[GateSpec, ...] | None = None
    """None: detected from the repository."""
    worktree: WorktreeConfig = WorktreeConfig()
    environment: ProjectEnvironment = ProjectEnvironment()
    attempts: int = Field(default=3, ge=1, le=20)
    """Attempts at a task before it fails."""
    plans: int = Field(default=5, ge=1, le=100)
    """The most plans that the planner makes: the first, and one after each rejection."""
    turns: int = Field(default=60, ge=1, le=1_000)
    """Turns of one agent, unless `agents` sets them."""
    agents: AgentSettings = AgentSettings()
    """What one agent may use, by role and kind of task."""
    command_timeout: timedelta = timedelta(minutes=5)
    """The time limit of one command of an agent."""
    limits: DiffLimits = DiffLimits()
    """How large one task's work may be."""
    sandbox: Literal["required", "none"] = "required"
    policy: ToolPolicy = ToolPolicy()
    deliver: Literal["branch", "fast_forward", "pull_request"] = "branch"
    pull_request: PullRequestConfig = PullRequestConfig()
    commits: CommitsConfig = CommitsConfig()
    on_cap: Literal["pause", "stop"] = "pause"
    """What the session does at the money cap; `stop` for unattended runs."""
    auto_pause_percent: int = Field(default=10, ge=0, le=100)
    """Above this share of errors of a provider or a tool in five minutes, the agents that use it
    wait for as long; 0: they never do."""
    notify: tuple[NotificationKind, ...] = ()
    """What the person is told outside of the program; empty: nothing, and no notifier is started.
    """
