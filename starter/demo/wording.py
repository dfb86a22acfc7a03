"""All texts of the demo, as plain lines; the fixed text is ASCII.

Pure: values in, lines out. Foreign text passes `one_line` or `shown`.
"""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from starter.console.terminal import one_line, shown
from starter.demo.evidence import Seen
from starter.demo.stage import SUITE, Stage, SuiteRun
from starter.sessions.shown_session import ShownSession
from starter.views.safety_labels import NO_SANDBOX
from starter.views.session_words import names_more
from workflows.domain.plan import Task
from workflows.domain.session.notice import Notice
from workflows.domain.session.query_answers import ChangesetLine
from workflows.domain.session.wave_values import Refused
from workflows.policy.money.amounts_in_words import money

_INTRODUCTION: Final = (
    "Blue Flame's demo: from a goal to reviewed and merged work, offline.",
    "SCRIPTED: a playbook has the models' answers; no model is called. Everything else is real:",
)
STAYS: Final = ("", "Server and workers keep running (--keep); Ctrl-C ends them.")
_WIDTH: Final = 90
_LINES: Final = 3


def step(word: str, text: str) -> str:
    """Return one line of the course; `text` is fixed, or already made harmless."""
    return f"{word:<9} {text}"


def _steps(word: str, text: str) -> list[str]:
    """Return a foreign text as one step of a few lines."""
    found = textwrap.wrap(one_line(text, _WIDTH * _LINES), _WIDTH) or [""]
    return [step(word if n == 0 else "", line) for n, line in enumerate(found)]


def introduction(sandbox: str) -> list[str]:
    """Say what is scripted and what is real. Args: `sandbox`: `none` without confinement."""
    if sandbox == "none":
        real = "the Temporal server, git, the tests, the merges, and your decisions, as Updates."
        return [*_INTRODUCTION, real, f"Sandbox {NO_SANDBOX}", ""]
    sandboxed = "the Temporal server, the sandbox, git, the tests, the merges, "
    return [*_INTRODUCTION, f"{sandboxed}your decisions as Updates.", ""]


# --- the course ---------------------------------------------------------------------------------


def begun(stage: Stage, before: SuiteRun) -> list[str]:
    """Say what the demo starts from, and what comes next."""
    return [
        step("sample", f"{before.failed} of its {before.tests} tests fail: {stage.repository}"),
        *_steps("goal", stage.goal),
        step("start", "a Temporal server and workers for the demo"),
    ]


def plan(tasks: Sequence[Task]) -> list[str]:
    """Show a plan, two lines a task."""
    lines = [step("plan", f"{len(tasks)} tasks wait for approval")]
    for task in tasks:
        after = f"; after {', '.join(task.depends_on)}" if task.depends_on else ""
        group = f"; group {task.group}" if task.group else ""
        title = one_line(task.title, _WIDTH)
        claims = one_line(", ".join(task.claims), _WIDTH)
        lines.append(step("", f"  {task.id:<16}{title}{group}{after}"))
        lines.append(step("", f"  {'':<16}writes {claims}"))
    return lines


def changeset_approved(changeset: ChangesetLine) -> str:
    """Say that a changeset was approved."""
    digest = (changeset.digest or "")[:12]
    tasks = ", ".join(changeset.tasks)
    return step("approve", f"{changeset.id} ({tasks}) {digest}, by Update approve_changeset")


def named(task: str, attempt: int) -> str:
    """Return a task with its attempt, if that is not the first."""
    return f"{task} (attempt {attempt})" if attempt > 1 else task


def note(task: str, text: str) -> list[str]:
    """Report an attempt that did not pass, from its notes."""
    first, *rest = [line for line in text.splitlines() if line.strip()] or [""]
    if conflict := next((line for line in rest if line.startswith("CONFLICT")), None):
        return _steps("CONFLICT", f"{task}: {conflict}")
    told = _steps("REJECTED", f"{task}, {first.partition('; ')[0]}")
    findings = [line for line in rest if line.startswith("- ")]
    return [*told, *(line for finding in findings for line in _steps("", finding))]


def notice(told: Notice) -> list[str]:
    """Say a notice of the session."""
    about = f"{told.subject} " if names_more(told) else ""
    return _steps("notice", f"{about}{told.text}")


# --- the end -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Proof:
    """The facts behind the demo's final claims."""

    session: ShownSession
    seen: Seen
    suite: SuiteRun | None
    """None: there is no branch to run it on."""

    @property
    def findings(self) -> tuple[tuple[bool, str], ...]:
        """Return whether each promised event was seen, with its details."""
        seen = self.seen
        approvals = seen.decisions.count("approve_changeset")
        return (
            (self.session.outcome == "complete", f"session: {self.session.outcome or 'open'}"),
            (self.suite is not None and self.suite.is_green, _suite(self.suite)),
            (seen.at_once > 1, f"parallel development: {seen.at_once} agents at the same time"),
            (bool(seen.by_gate), _refused("rejected by a gate", seen.by_gate)),
            (bool(seen.by_reviewer), _refused("rejected by the reviewer", seen.by_reviewer)),
            (bool(seen.conflicts), _conflicts(seen)),
            (
                "approve_plan" in seen.decisions and approvals > 0,
                f"decided by Update: the plan once, changesets {approvals} times",
            ),
        )

    @property
    def is_whole(self) -> bool:
        """Whether all of it was seen."""
        return all(was_seen for was_seen, _ in self.findings)


def _suite(run: SuiteRun | None) -> str:
    if run is None:
        return "the sample's own tests: not run, there is no branch"
    passed = "all pass" if run.is_green else f"{run.failed} fail"
    command = " ".join(SUITE)
    return (
        f"the sample's own tests: {run.tests}, {passed} "
        f"(exit code {run.exit_code} of {command!r} in a clean clone of the branch)"
    )


def _refused(what: str, refused: Sequence[Refused]) -> str:
    told = [f"{r.task}, attempt {r.attempt}: {_reason(r.notes)}" for r in refused]
    return f"{what}, then reworked: {'; '.join(told)}" if told else f"{what}: none"


def _reason(notes: str) -> str:
    return notes.split("\n", 1)[0].partition("; ")[0]


def _conflicts(seen: Seen) -> str:
    told: list[str] = []
    for each in seen.conflicts:
        lines = each.notes.splitlines() or [""]
        said = next((line for line in lines if line.startswith("CONFLICT")), lines[0])
        told.append(f"{each.task}: {said}")
    what = "conflict, then reworked on the new head"
    return f"{what}: {'; '.join(told)}" if told else "conflict: none"


def ending(proof: Proof, stage: Stage, elapsed_s: float) -> list[str]:
    """Show the result, the observed events, and the cost."""
    session, spent = proof.session, money(proof.session.spent_usd)
    title = f"Done in {elapsed_s:.0f} s." if proof.is_whole else "NOT all that the demo promises:"
    unconfined = [f"Sandbox   {NO_SANDBOX}"] if session.sandbox == "none" else []
    return [
        "",
        title,
        *(line for ok, text in proof.findings for line in _finding(text, was_seen=ok)),
        "",
        f"Branch    {shown(session.branch or '(none)')} in {stage.repository}",
        f"Cost      {spent} (SCRIPTED: the playbook's invented prices; nothing is billed)",
        *unconfined,
    ]


def _finding(text: str, *, was_seen: bool) -> list[str]:
    first, *rest = textwrap.wrap(one_line(text, _WIDTH * _LINES), _WIDTH)
    return [f"  [{'x' if was_seen else ' '}] {first}", *(f"      {line}" for line in rest)]


def look_further(stage: Stage, session: str, page: str | None, program: str) -> list[str]:
    """Say where to look at the result, and at the session after the demo has ended.

    Args:
        stage: the demo's stage.
        session: its id.
        page: the session's page in the Web UI; None: unknown.
        program: the program as the person types it.
    """
    at = f"git -C {stage.repository}"
    branch = f"blueflame/{session}"
    with_data = f"BLUEFLAME_DATA_DIR={stage.data_dir} {program}"
    lines = [
        "",
        "Look further",
        f"  {at} log --graph --oneline {branch}",
        f"  {at} diff main..{branch}",
        f"  {with_data} up     (server and workers again; while they run:)",
        f"  {with_data} status {session}",
    ]
    return [*lines, f"  {page}"] if page else lines
