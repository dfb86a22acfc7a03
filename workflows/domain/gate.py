"""Gates: deterministic checks, the results of their runs, and their baseline."""

from datetime import timedelta
from enum import StrEnum
from typing import Literal, Self, TypedDict, Unpack

from pydantic import BaseModel, Field

from workflows.domain.evolution import evolve
from workflows.domain.ids import Digest, Tree

NotRun = Literal["spared", "not_concerned"]
"""Why a gate was not asked: a cheaper one had found enough, or the change is none of its."""


class GateSpec(BaseModel, frozen=True, extra="forbid"):
    """One command that judges a tree."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_.-]{0,62}$")
    argv: tuple[str, ...] = Field(min_length=1)
    timeout: timedelta = timedelta(minutes=10)
    source: Literal["configured", "detected"] = "configured"
    cheap: bool = False
    """It runs before the others; where it finds something new, they are spared."""
    paths: tuple[str, ...] = ()
    """It runs only on changes that touch one of them; empty: on all. `policy.gates.chosen_gates`
    reads them."""


class TestCounts(BaseModel, frozen=True, extra="forbid"):
    """The counts in a test runner's closing lines."""

    __test__ = False
    passed: int = Field(default=0, ge=0)
    failed: int = Field(default=0, ge=0)
    """Failures and errors."""
    skipped: int = Field(default=0, ge=0)
    """Skipped, ignored, or expected to fail."""

    @property
    def ran(self) -> int:
        """How many tests ran to a result."""
        return self.passed + self.failed


class WhyNothing(StrEnum):
    """Why a gate judged nothing."""

    COULD_NOT_START = "could not start"
    NO_TESTS = "ran no test"
    STOPPED = "stopped before its end"
    CUT_SHORT = "cut short"
    TIMED_OUT = "timed out"


class GateFacts(BaseModel, frozen=True, extra="forbid"):
    """One run of a gate as the host saw it; `policy.gates.gate_results` interprets it."""

    end: Literal["exited", "signalled", "timed_out", "out_of_memory", "out_of_disk"]
    exit_code: int
    ended_by: str = ""
    """The limit or signal that ended it, in words: `time-out after 600 s`, `out of memory`."""
    not_started: str = ""
    """Which program, module or plugin is missing, and what to do; empty if none is."""
    none_found: str = ""
    """The runner's words that there are no tests; empty without them."""
    cut_short: str = ""
    """The runner's words that it left tests out: `stopping after 1 failures`."""
    tests: TestCounts | None = None
    """None: the output has no closing line of a known runner."""
    failures: tuple[str, ...] = ()


class _ResultChanges(TypedDict, total=False):
    reason: str
    failures: tuple[str, ...]
    missing: tuple[str, ...]
    ran: Digest | None
    output: Digest | None
    rerun: bool
    changed_files: tuple[str, ...]


class GateResult(BaseModel, frozen=True, extra="forbid"):
    """One gate's judgement of one tree."""

    gate: str
    result: Literal["passed", "failed", "judged_nothing"] | NotRun
    why: WhyNothing | None = None
    """Set if the gate judged nothing."""
    exit_code: int
    reason: str = ""
    """Details of `why`: `time-out after 600 s`, `killed by signal 9`; what was flaky; or why it was
    not run."""
    failures: tuple[str, ...] = ()
    """The names of failing tests if the output has them, sorted, at most 200."""
    cut_short: str = ""
    """It failed, and says that it left tests out: tests that it does not name may fail too."""
    tests: TestCounts | None = None
    """None: the output has no closing line of a known runner."""
    ran: Digest | None = None
    """The names of the tests that ran, in the store, one per line, if the runner lists them."""
    missing: tuple[str, ...] = ()
    """Tests that ran on the base and did not run here, sorted, at most 200."""
    excerpt: str = ""
    """The cut output, at most 6,000 characters."""
    output: Digest | None = None
    """The whole output in the store."""
    rerun: bool = False
    """True for the second run, made to detect flakes."""
    changed_files: tuple[str, ...] = ()
    """Tracked files that the gate itself changed; never committed, reported to the person."""

    @property
    def has_run(self) -> bool:
        """Whether the gate was asked at all."""
        return self.result not in {"spared", "not_concerned"}

    def evolve(self, **changes: Unpack[_ResultChanges]) -> Self:
        """Return a copy with some fields replaced."""
        return evolve(self, changes)


class TimedPart(BaseModel, frozen=True, extra="forbid"):
    """A part of the work of an activity that runs gates or makes a worktree, for its trace."""

    kind: Literal["gate", "setup"]
    name: str = Field(max_length=200)
    """The gate; for set-up `commands`, or `snapshot` if none had to run."""
    after: timedelta
    """When it began, counted from the activity's start."""
    took: timedelta
    outcome: str = Field(default="", max_length=100)
    """A gate's result."""


class GateReport(BaseModel, frozen=True, extra="forbid"):
    """All gates' results on one tree."""

    tree: Tree
    results: tuple[GateResult, ...]
    notices: tuple[str, ...] = ()
    """Hosts that set-up tried and could not reach, although it succeeded; at most 20."""
    parts: tuple[TimedPart, ...] = ()
    """Set-up and each run of a gate, for the trace; empty for results of an earlier run."""

    def timed(self, parts: tuple[TimedPart, ...]) -> Self:
        """Return it with what the run spent its time on."""
        return evolve(self, {"parts": parts})


class Judgement(BaseModel, frozen=True, extra="forbid"):
    """Which gates judged some work, and which judged nothing."""

    by: tuple[str, ...] = ()
    """Gates that judged the work and found nothing new, in order."""
    nothing: tuple[str, ...] = ()
    """`gate: reason` for each gate that judged nothing."""
    unreviewed: tuple[str, ...] = ()
    """`task: reason` if no reviewer gave a verdict; only a person may approve such work."""

    def without_review(self, why: str) -> "Judgement":
        """Return it for work that no reviewer judged. Args: `why`: `task: reason`."""
        return Judgement(by=self.by, nothing=self.nothing, unreviewed=(why,))


class GateDecision(BaseModel, frozen=True, extra="forbid"):
    """What a report means for the work, compared with the baseline."""

    passes: bool
    judgement: Judgement = Judgement()
    new_failures: tuple[str, ...] = ()
    """`gate: failing test` or `gate` alone; empty if the work passes."""
    known_failures: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    """`gate: test` for each test that ran on the base and did not run here."""
    notes: str = ""
    """For the next attempt: what failed, with excerpts."""
    remarks: str = ""
    """For a person, if the work passes: flakes, files that a gate changed, known failures with
    another cause; without results that are the same on the base."""
