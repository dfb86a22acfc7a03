"""All that the demo says, as plain lines; only ASCII of our own.

Pure: values in, lines out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from starter.demo.evidence import Seen
from starter.demo.stage import SUITE, Stage, SuiteRun
from starter.shown_session import ShownSession
from starter.terminal import one_line, shown
from starter.views import money
from workflows.domain.plan import Task
from workflows.domain.session import ChangesetLine
from workflows.domain.stages import Refused

INTRODUCTION: Final = (
    "Blue Flame's demo: a goal in, reviewed and merged work out, offline.",
    "SCRIPTED: the models' words come from a playbook, no model is called. All else is real:",
    "the Temporal server, the sandbox, git, the tests, the merges, and your part as signals.",
    "",
)
_WIDTH: Final = 160


def step(word: str, text: str) -> str:
    """Return one line of the course."""
    return f"{word:<9} {one_line(text, _WIDTH)}"


def more(text: str) -> str:
    """Return a line that belongs to the one before."""
    return f"{'':<9} {one_line(text, _WIDTH)}"


def begun(stage: Stage, before: SuiteRun) -> list[str]:
    """Say what the demo starts from."""
    return [
        step("sample", f"{stage.repository}: {before.failed} of its {before.tests} tests fail"),
        step("goal", stage.goal),
    ]


def plan(tasks: Sequence[Task]) -> list[str]:
    """Show a plan, two lines a task."""
    lines = [step("plan", f"{len(tasks)} tasks wait for approval")]
    for task in tasks:
        after = f"; after {', '.join(task.depends_on)}" if task.depends_on else ""
        group = f"; group {task.group}" if task.group else ""
        lines.append(more(f"{task.id:<16}{task.title}{group}{after}"))
        lines.append(more(f"{'':<16}writes {', '.join(task.claims)}"))
    return lines


def plan_approved() -> str:
    """Say that the plan was approved."""
    return step("approve", "the plan (signal approve_plan)")


def changeset_approved(changeset: ChangesetLine) -> str:
    """Say that a changeset was approved."""
    digest = (changeset.digest or "")[:12]
    tasks = ", ".join(changeset.tasks)
    return step("approve", f"{changeset.id} {digest} ({tasks}), by signal approve_changeset")


def started(stage_name: str, tasks: Sequence[str]) -> str:
    """Say that a wave began its work on some tasks."""
    count = f" ({len(tasks)} at once)" if len(tasks) > 1 else ""
    return step(stage_name, f"{', '.join(tasks)}{count}")


def note(task: str, text: str) -> list[str]:
    """Say what came of an attempt that did not pass: the first lines of its notes."""
    first, *rest = [line for line in text.splitlines() if line.strip()]
    word = "conflict" if first.startswith("The work conflicts") else "rejected"
    return [step(word, f"{task}: {first}"), *map(more, rest[:1])]


@dataclass(frozen=True)
class Proof:
    """Everything that the demo's end rests on."""

    session: ShownSession
    seen: Seen
    suite: SuiteRun | None
    """None: there is no branch to run it on."""

    @property
    def findings(self) -> tuple[tuple[bool, str], ...]:
        """Whether each promised event was seen, with what is known of it."""
        seen = self.seen
        approvals = seen.signals.count("approve_changeset")
        return (
            (self.session.outcome == "complete", f"session {self.session.outcome or 'open'}"),
            (self.suite is not None and self.suite.is_green, _suite(self.suite)),
            (seen.at_once > 1, f"parallel development: {seen.at_once} agents at the same time"),
            (bool(seen.by_gate), _refused("rejected by a gate", seen.by_gate)),
            (bool(seen.by_reviewer), _refused("rejected by the reviewer", seen.by_reviewer)),
            (bool(seen.conflicts), _conflicts(seen)),
            (
                "approve_plan" in seen.signals and approvals > 0,
                f"decided by signal: the plan, and changesets {approvals} times",
            ),
        )

    @property
    def is_whole(self) -> bool:
        """Whether all of it was seen."""
        return all(was_seen for was_seen, _ in self.findings)


def _suite(run: SuiteRun | None) -> str:
    if run is None:
        return "its own tests on the branch: not run, there is no branch"
    result = "all passed" if run.is_green else f"{run.failed} failed"
    command = " ".join(SUITE)
    return f"its own tests in a clean clone of the branch: {run.tests}, {result} ({command})"


def _refused(what: str, refused: Sequence[Refused]) -> str:
    told = "; ".join(f"{r.task}, attempt {r.attempt}: {_first_line(r.notes)}" for r in refused)
    return f"{what} and reworked: {told}" if told else f"{what}: none"


def _conflicts(seen: Seen) -> str:
    told = "; ".join(f"{c.task}: {_conflict(c.notes)}" for c in seen.conflicts)
    return f"conflict, handled by rework on the new head: {told}" if told else "conflict: none"


def _conflict(notes: str) -> str:
    lines = notes.splitlines()
    return next((line for line in lines if line.startswith("CONFLICT")), lines[0] if lines else "")


def _first_line(text: str) -> str:
    return text.split("\n", 1)[0]


def ending(proof: Proof, stage: Stage, elapsed_s: float) -> list[str]:
    """Show what came out, what was seen, and what it cost."""
    session = proof.session
    return [
        "",
        f"Done in {elapsed_s:.0f} s" if proof.is_whole else "The demo did NOT show all it should",
        *(f"  [{'x' if ok else ' '}] {one_line(text, _WIDTH)}" for ok, text in proof.findings),
        "",
        f"Branch    {shown(session.branch or '(none)')} in {shown(str(stage.repository))}",
        f"Cost      {_cost(session.spent_usd, session.cap_usd)}",
    ]


def _cost(spent: Decimal, cap: Decimal) -> str:
    words = "SCRIPTED: at the playbook's invented prices; nobody is billed"
    return f"{money(spent)} of at most {money(cap)} ({words})"


def look_further(stage: Stage, session: str, page: str | None, program: str) -> list[str]:
    """Say where to look when the demo has ended.

    Args:
        stage: where it played.
        session: its id.
        page: the session's page in the Web UI; None: it is not known.
        program: how the person starts us.
    """
    at = f"git -C {stage.repository}"
    branch = f"blueflame/{session}"
    with_data = f"BLUEFLAME_DATA_DIR={stage.data_dir} {program}"
    lines = [
        "",
        "Look further",
        f"  {at} log --graph --oneline {branch}",
        f"  {at} diff main..{branch}",
        f"  {with_data} up",
        f"  {with_data} status {session}",
    ]
    return [*lines, f"  {page}   (Web UI, while `up` runs)"] if page else lines


def stays(page: str | None) -> list[str]:
    """Say that server and workers run on."""
    look = f": {page}" if page else ""
    return ["", f"Server and workers run until Ctrl-C{look}"]
