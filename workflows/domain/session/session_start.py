"""What starts a session, and each continuation of it."""

from datetime import timedelta
from typing import Self

from pydantic import BaseModel, Field

from workflows.domain.evolution import evolve
from workflows.domain.ids import SessionId
from workflows.domain.plan import Plan
from workflows.domain.session.session_config import SessionConfig
from workflows.domain.session.session_state import SessionState


class SessionRequest(BaseModel, frozen=True, extra="forbid"):
    """What starts a session."""

    session: SessionId
    goal: str = Field(min_length=1, max_length=50_000)
    issue: str = Field(default="", max_length=500)
    """Where the goal was read, if it is an issue: its address or file. To the planner it is then
    data. Empty: the goal is in the person's own words."""
    repository: str
    """The path of the person's repository, as role `land` sees it."""
    base: str | None = None
    config: SessionConfig
    plan: Plan | None = None
    """A plan that a person brings; then the planner does not run."""
    plan_by: str = Field(default="", max_length=200)
    """Who brings the plan: their own plan needs no second approval. Empty: it waits for
    approval."""
    waves_per_run: int = Field(default=200, gt=0)
    """After this many waves in one run, the workflow continues as new when no wave runs."""
    events_per_run: int = Field(default=12_000, gt=0)
    """After this many events in one run, it starts no wave before it has continued as new. A
    session of 700 tasks has fewer; a worker that restarts replays all of them at once."""
    carried: SessionState | None = None
    """Set by a continuation."""

    @property
    def ledger_id(self) -> str:
        """The workflow id of the session's ledger."""
        return f"session/{self.session}/ledger"

    @property
    def workflow_id(self) -> str:
        """The workflow id of the session."""
        return f"session/{self.session}"

    @property
    def memo(self) -> dict[str, str]:
        """What lists of sessions show, as the memo of the session's workflow."""
        return {"goal": self.goal[:200], "repository": self.repository}

    @property
    def summary(self) -> str:
        """What the Web UI shows."""
        return " ".join(self.goal.split())[:200]

    @property
    def task_timeout(self) -> timedelta:
        """How long a worker may take to replay the session.

        The server's ten seconds are too short for a long one on a busy machine: each replay would
        be refused, and the session would never go on.
        """
        return timedelta(minutes=1)

    def continued(self, state: SessionState) -> Self:
        """Return the request that starts the next run."""
        return evolve(self, {"carried": state})
