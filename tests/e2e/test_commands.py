"""The commands on a real server, with sessions that wait and end as told."""

import asyncio
import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from activities.adapters.blob_store import LocalStore
from starter.cli import app
from starter.console.exit_codes import ExitCode
from starter.sessions.sent_decisions import decider
from starter.sessions.shown_session import ShownSession
from starter.views.safety_labels import SCRIPTED
from tests.documented import unshown
from tests.e2e.fake_session import TITLE
from tests.e2e.processes import (
    CONFIGURATION,
    ROOT,
    blueflame,
    environment,
    repository,
    until,
    up,
)
from tests.report_reader import check_figures, check_whole, read_page
from tests.waiting import PATIENCE, Shown
from workers.settings import Settings
from workers.temporal.connection import connect

pytestmark = pytest.mark.e2e


@dataclass(frozen=True)
class Answer:
    """What one command said."""

    code: int
    out: str
    err: str

    @property
    def session(self) -> str:
        """The session that it started."""
        return self.out.split()[1]


@dataclass
class Person:
    """A person who types commands, without a terminal."""

    settings: Settings
    repo: Path
    config: Path

    def types(self, *arguments: str) -> Answer:
        """Run one command in this process."""
        result = CliRunner().invoke(app, arguments, env=environment(self.settings))
        return Answer(result.exit_code, result.stdout, result.stderr)

    def starts(self, *arguments: str) -> Answer:
        """Start a session."""
        return self.types(
            "run", "Fix it", "--repo", str(self.repo), "--config", str(self.config), *arguments
        )

    def starts_and_sees(self, *arguments: str) -> str:
        """Start a session, and return it once the list has it: that takes a moment."""
        session = self.starts(*arguments).session
        until(lambda: self.listed(session) != "", "the list has it")
        return session

    def listed(self, session: str) -> str:
        """Return the line of a session in the list; empty where it is not there."""
        lines = self.types("ls").out.splitlines()
        return next((line for line in lines if line.startswith(session)), "")

    def goals(self) -> set[str]:
        """Return the goals of all sessions; the list has them once it has a later one."""
        self.starts_and_sees("--auto-approve")
        listed = json.loads(self.types("ls", "--json", "--limit", "1000").out)["sessions"]
        return {each["goal"] for each in listed}

    def view(self, session: str) -> ShownSession:
        """Return the view that `status --json` gives."""
        return ShownSession.model_validate_json(self.types("status", session, "--json").out)


def git(repository: Path, *arguments: str) -> str:
    """Run git as a person would."""
    author = ("-c", "user.name=t", "-c", "user.email=t@example.invalid")
    command = ["git", *author, "-C", str(repository), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture(scope="module")
def _standing(tmp_path_factory: pytest.TempPathFactory) -> "Generator[tuple[Person, object]]":
    directory = tmp_path_factory.mktemp("commands")
    settings = Settings(data_dir=directory / "data", temporal_port=0, ui_port=0)
    repo = repository(directory / "repo", {"a.txt": "a\n"})
    config = directory / "config.yaml"
    config.write_text(CONFIGURATION)
    with up(settings) as supervisor:
        yield Person(settings, repo, config), supervisor


@pytest.fixture
def person(_standing: "tuple[Person, object]") -> Person:
    return _standing[0]


def test_a_session_is_decided_step_by_step(person: Person) -> None:
    """Field report R58."""
    started = person.starts()
    assert started.code == ExitCode.WAITING
    session, at = started.session, ("--session", started.session)
    assert f"approve plan --session {session}" in started.out
    assert "SCRIPTED" in started.out
    assert "NONE: commands of agents run unconfined" in started.out

    assert person.types("approve", "c1", *at).code == ExitCode.STALE
    assert person.types("approve", *at).code == ExitCode.COMPLETE
    stale = person.types("approve", "c1", "--digest", "ffff", *at)
    assert (stale.code, "'ffff' is stale" in stale.err) == (ExitCode.STALE, True)
    assert "'nope' does not exist" in person.types("approve", "nope", *at).err
    assert person.types("approve", "c1", "--digest", "000000", *at).code == ExitCode.COMPLETE

    assert person.types("watch", session).code == ExitCode.COMPLETE
    ended = person.view(session)
    assert (ended.outcome, ended.live) == ("complete", False)
    again = person.types("approve", "c1", *at)
    assert (again.code, "has ended: complete" in again.err) == (ExitCode.STALE, True)


def test_a_rejected_changeset_waits_with_another_digest(person: Person) -> None:
    session = person.starts().session
    at = ("--session", session)
    person.types("approve", "plan", *at)
    first = person.view(session).changesets[0].digest
    assert person.types("reject", "c1", "--notes", "too large", *at).code == ExitCode.COMPLETE
    assert person.view(session).changesets[0].digest != first
    assert person.types("approve", "c1", "--digest", str(first), *at).code == ExitCode.STALE
    assert person.types("stop", session).code == ExitCode.COMPLETE
    assert person.types("watch", session).code == ExitCode.STOPPED


async def _heard(settings: Settings, session: str) -> list[tuple[str, Any]]:
    handle = (await connect(settings)).get_workflow_handle(f"session/{session}")
    heard: list[list[Any]] = await handle.query("heard")
    return [(name, content) for name, content in heard]


def test_every_signal_is_sent_as_its_name_says(person: Person) -> None:
    session = person.starts().session
    at = ("--session", session)
    for arguments in (
        ("skip", "t1", "--satisfies", *at),
        ("retry", "t1", "--notes", "n", *at),
        ("steer", "t1", "look there", *at),
        ("priority", "t1", *at, "--", "-5"),
        ("budget", "12.50", *at),
        ("proceed", session),
        ("pause", session),
        # An end of the id is enough.
        ("resume", session[-8:]),
        ("stop", session),
    ):
        answer = person.types(*arguments)
        assert answer.code == ExitCode.COMPLETE, (arguments, answer.err)
    by = decider()
    assert asyncio.run(_heard(person.settings, session)) == [
        ("skip_task", {"id": "t1", "satisfies": True, "by": by}),
        ("retry_task", {"id": "t1", "notes": "n", "review": False, "by": by}),
        ("steer_task", {"id": "t1", "text": "look there", "by": by}),
        ("set_priority", {"id": "t1", "n": -5, "by": by}),
        ("set_budget", {"usd": 12.5, "by": by}),
        ("proceed", {"by": by}),
        ("pause", {"by": by}),
        ("resume", {"by": by}),
        ("stop", {"by": by}),
    ]


REFUSED: Sequence[tuple[tuple[str, ...], str]] = (
    (("steer", "nope", "x", "-s", "{}"), "task 'nope' does not exist"),
    (("budget", "lots", "-s", "{}"), "'lots' is not an amount"),
    (("budget", "nan", "-s", "{}"), "not an amount"),
    (("budget", "1E+99999999", "-s", "{}"), "'1E+99999999': it is above 1000000 USD"),
    (("budget", "5" * 500, "-s", "{}"), f"'{'5' * 40}': it is above"),
    (("budget", "-s", "{}", "--", "-1"), "negative"),
    (("status", "zzzz"), "no session matches 'zzzz'; `ls` lists them"),
    (("stop", "t1"), "no session matches 't1': it takes 4 characters of an id or more"),
    (("status", "0" * 26), "there is no session"),
    (("priority", "t1", "101", "-s", "{}"), ""),
)


def test_what_cannot_be_is_refused_before_it_is_sent(person: Person) -> None:
    """Field report R44."""
    session = person.starts().session
    for arguments, words in REFUSED:
        refused = person.types(*(argument.replace("{}", session) for argument in arguments))
        assert refused.code == ExitCode.USAGE, arguments
        assert words in refused.err, arguments
    steer = person.types("steer", "t1", "x" * 10_001, "-s", session)
    assert (steer.code, steer.err.startswith("error: text: ")) == (ExitCode.USAGE, True)
    repo, config = str(person.repo), str(person.config)
    goal = person.types("run", "x" * 50_001, "--repo", repo, "--config", config)
    assert (goal.code, goal.err.startswith("error: goal: ")) == (ExitCode.USAGE, True)
    assert asyncio.run(_heard(person.settings, session)) == []
    person.types("stop", session)


def test_auto_approve_asks_no_one(person: Person) -> None:
    done = person.starts("--auto-approve")
    assert done.code == ExitCode.COMPLETE
    assert "complete" in done.out


@pytest.mark.slow
def test_a_decisions_file_decides_in_a_persons_place(person: Person, tmp_path: Path) -> None:
    file = tmp_path / "night.yaml"
    file.write_text(
        "version: 1\nplan: [{decide: approve}]\nchangesets: [{id: 'x*', decide: approve}]"
    )
    left = person.starts("--decisions", str(file))
    assert left.code == ExitCode.WAITING
    assert "approved by the decisions file: the plan" in left.out
    assert "approve c1 --digest" in left.out
    file.write_text(
        "version: 1\nplan: [{decide: approve}]\nchangesets: [{id: 'c*', decide: approve}]"
    )
    done = person.starts("--decisions", str(file))
    assert done.code == ExitCode.COMPLETE
    assert "approved by the decisions file: changeset c1" in done.out
    heard = asyncio.run(_heard(person.settings, done.session))
    assert [(name, content["by"]) for name, content in heard] == [
        (name, f"night.yaml of {decider()}") for name in ("approve_plan", "approve_changeset")
    ]
    person.types("stop", left.session)


@pytest.mark.parametrize("other", ["--detach", "--auto-approve"])
def test_a_decisions_file_does_not_go_with(person: Person, tmp_path: Path, other: str) -> None:
    file = tmp_path / "night.yaml"
    file.write_text("version: 1")
    refused = person.starts("--decisions", str(file), other)
    assert (refused.code, other in refused.err) == (ExitCode.USAGE, True)


@pytest.mark.slow
def test_the_goal_comes_from_a_file_or_a_pipe_and_the_cap_from_an_option(
    person: Person, tmp_path: Path
) -> None:
    page = tmp_path / "goal.md"
    page.write_text("Fix the parser\n")
    at = ("--repo", str(person.repo), "--config", str(person.config), "--dry-run")
    shown = person.types("run", "--file", str(page), "--budget", "3.5", *at)
    assert (shown.code, "Goal       Fix the parser" in shown.out) == (ExitCode.COMPLETE, True)
    assert "stops at $3.50" in shown.out
    piped = subprocess.run(
        [sys.executable, "-m", "starter", "run", "-", *at],
        env=environment(person.settings),
        cwd=ROOT,
        input="From a pipe",
        capture_output=True,
        text=True,
        check=False,
    )
    assert (piped.returncode, "Goal       From a pipe" in piped.stdout) == (0, True)
    assert person.types("run", *at).code == ExitCode.USAGE
    assert "'lots' is not an amount" in person.types("run", "x", "--budget", "lots", *at).err


def test_a_run_can_be_followed_by_a_program(person: Person) -> None:
    waits = person.starts("--json")
    first, *changes = [json.loads(line) for line in waits.out.splitlines()]
    assert (waits.code, changes[-1]["phase"]) == (ExitCode.WAITING, "awaiting_plan")
    assert {each["schema_version"] for each in (first, *changes)} == {1}
    person.types("approve", "plan", "--session", first["session"])
    person.types("stop", first["session"])
    ended = person.types("watch", first["session"], "--json")
    assert (ended.code, json.loads(ended.out.splitlines()[-1])["outcome"]) == (4, "stopped")
    refused = person.starts("--json", "--dry-run")
    assert (refused.code, json.loads(refused.out)["error"]["kind"]) == (2, "usage")


@pytest.mark.slow
def test_a_dry_run_starts_nothing(person: Person) -> None:
    at = ("--repo", str(person.repo), "--config", str(person.config))
    shown = person.types("run", "Only to see", *at, "--dry-run", "--pacing", "flow")
    assert shown.code == ExitCode.COMPLETE
    assert "nothing was started" in shown.out
    assert "Pacing     flow" in shown.out
    assert person.goals() == {"Fix it"}


def test_r58_json_is_one_document(person: Person) -> None:
    session = person.starts_and_sees("--auto-approve")
    document = json.loads(person.types("status", session, "--json").out)
    assert document["schema_version"] == 1
    assert document["tasks"][0]["title"] == TITLE[:48]
    at = ("--session", session)
    task = json.loads(person.types("task", "t1", *at, "--json").out)
    assert (task["schema_version"], task["task"]["task"]["title"]) == (1, TITLE)
    assert (task["session"], task["scripted"]) == (session, True)
    listed = json.loads(person.types("ls", "--json").out)
    assert session in [each["session"] for each in listed["sessions"]]
    diff = person.types("diff", "c1", *at, "--json")
    assert (diff.code, json.loads(diff.out)["error"]["kind"]) == (2, "usage")
    unknown = person.types("task", "t2", *at, "--json")
    assert (unknown.code, json.loads(unknown.out)["error"]["code"]) == (2, 2)
    assert "'t2' does not exist" in unknown.err


def test_a_session_ends_with_its_report_whose_figures_are_those_of_status(
    person: Person, tmp_path: Path
) -> None:
    started = person.starts("--auto-approve")
    session, at_end = started.session, person.settings.data_dir / f"reports/{started.session}.html"
    assert f"Report     {at_end}\n" in started.out
    assert unshown("reports", f"Report     {at_end}") == []
    status = json.loads(person.types("status", session, "--json").out)
    check_figures(read_page(at_end.read_text()), status)
    mine = tmp_path / "mine.html"
    written = person.types("report", session, "--output", str(mine), "--json")
    assert json.loads(written.out)["path"] == str(mine)
    page = read_page(mine.read_text())
    check_whole(page)
    check_figures(page, status)
    nowhere = person.types("report", session, "--output", str(tmp_path / "no" / "r.html"))
    assert (nowhere.code, "name another file with --output" in nowhere.err) == (2, True)
    first = person.types("history", session, "--events").out.partition("\n")[0]
    kept = person.types("export", session, "--output", str(tmp_path / "night.zip")).out
    assert unshown("reports", f"{first}\n{kept}") == []
    events = json.loads(person.types("history", session, "--json").out)["events"]
    assert [events[0]["text"], events[-1]["text"][:14]] == ["started", "ended complete"]


def test_the_list_says_how_each_session_stands(person: Person) -> None:
    waits, ended = person.starts().session, person.starts("--auto-approve").session
    stopped = person.starts().session
    person.types("approve", "plan", "--session", stopped)
    person.types("stop", stopped)
    assert person.types("watch", stopped).code == ExitCode.STOPPED

    def stand() -> bool:
        # It is looked at for a moment only: what does not answer in time is listed as `open`.
        listed = json.loads(person.types("ls", "--json").out)["sessions"]
        facts = {each["session"]: (each["state"], each["scripted"]) for each in listed}
        states = (facts.get(waits), facts.get(ended), facts.get(stopped))
        return states == (("waiting", True), ("complete", True), ("stopped", True))

    until(stand, "the list says it")
    until(lambda: person.listed(waits).startswith(f"{waits}  waiting "), "in words as well")
    person.types("stop", waits)


@pytest.mark.slow
def test_no_view_of_a_session_and_no_answer_of_it_leaves_out_its_marks(person: Person) -> None:
    session = person.starts().session
    until(lambda: "(SCRIPTED, sandbox NONE)" in person.listed(session), "the list says them")
    at = ("--session", session)
    for look in (
        ("status", session),
        ("plan", session),
        ("task", "t1", *at),
        ("log", session),
        ("trace", session),
        ("history", session),
        ("steer", "t1", "look there", *at),
        ("budget", "5", *at),
        ("pause", session),
        ("approve", "plan", *at),
        ("reject", "c1", *at),
        ("stop", session),
    ):
        said = person.types(*look).out
        assert ("SCRIPTED" in said, "NONE" in said) == (True, True), look


@pytest.mark.slow
def test_an_unfollowed_session_shows_its_labels_too(person: Person, tmp_path: Path) -> None:
    config = tmp_path / "bare.yaml"
    config.write_text(f"{CONFIGURATION}sandbox: none\n")
    away = Person(person.settings, person.repo, config)
    said = away.starts("--detach")
    assert ("SCRIPTED" in said.out, "Sandbox    NONE" in said.out) == (True, True)
    facts = json.loads(away.starts("--detach", "--json").out)
    assert (facts["scripted"], facts["sandbox"]) == (True, "none")
    for session in (said.session, facts["session"]):
        person.types("stop", session)


def test_a_plan_is_shown_and_another_takes_its_place(person: Person, tmp_path: Path) -> None:
    session = person.starts().session
    assert "  One step." in person.types("plan", session).out
    document = json.loads(person.types("plan", session, "--json").out)
    assert (document["schema_version"], document["plan"]["tasks"][0]["id"]) == (1, "t1")
    assert (document["scripted"], document["sandbox"]) == (True, "none")
    file = tmp_path / "plan.yaml"
    file.write_text("tasks: [{id: a, title: A, acceptance_criteria: [c], claims: ['../x']}]")
    refused = person.types("plan", session, "--file", str(file))
    assert (refused.code, "'../x'" in refused.err) == (ExitCode.USAGE, True)
    assert "no terminal" in person.types("plan", session, "--edit").err
    assert person.types("plan", session, "--edit", "--json").code == ExitCode.USAGE
    file.write_text("tasks: [{id: a, title: A, acceptance_criteria: [c], claims: [src]}]")
    sent = person.types("plan", session, "--file", str(file))
    assert (sent.code, "plan of 1 task," in sent.out) == (ExitCode.COMPLETE, True)
    ((name, content),) = asyncio.run(_heard(person.settings, session))
    assert (name, content["plan"]["tasks"][0]["id"]) == ("edit_plan", "a")
    assert content["digest"] == document["digest"]
    assert "At most $" in sent.out
    again = person.types("plan", "edit", session, "--file", str(file), "--digest", "f00")
    assert (again.code, "added a; removed t1" in again.out) == (ExitCode.COMPLETE, True)
    assert asyncio.run(_heard(person.settings, session))[1][1]["digest"] == "f00"
    assert person.types("plan", "edit", session, "more").code == ExitCode.USAGE
    person.types("stop", session)


def test_a_log_without_agents_is_empty_and_follows_to_the_end(person: Person) -> None:
    session = person.starts("--auto-approve").session
    marked = f"Models     {SCRIPTED}\n"
    for arguments, told in (((), marked), (("--json",), ""), (("--follow", "--json"), "")):
        log = person.types("log", session, *arguments)
        assert (log.code, log.out) == (ExitCode.COMPLETE, told)
    unknown = person.types("log", session, "t1", "--json")
    assert (unknown.code, json.loads(unknown.out)["error"]["kind"]) == (2, "usage")
    assert person.types("log", "0" * 26).code == ExitCode.USAGE


def test_a_log_of_a_task_alone_is_of_the_latest_session(person: Person) -> None:
    session = person.starts_and_sees()
    for name in ("t1", "dev.t1.1"):
        told = person.types("log", name)
        assert f"no agent of session {session!r} worked on {name!r} so far" in told.err
    unknown = person.types("log", "nope")
    assert (unknown.code, "`log SESSION TASK`" in unknown.err) == (ExitCode.USAGE, True)
    assert "it has t1." in unknown.err
    person.types("stop", session)


@pytest.mark.slow
def test_a_clean_up_leaves_what_an_open_session_may_use(person: Person) -> None:
    session = person.starts_and_sees()
    store = LocalStore(person.settings.store_dir)
    young, old = [asyncio.run(store.put(data)) for data in (b"young", b"old")]
    now = time.time()
    for digest, hours in ((young, 2), (old, 72)):
        at = now - hours * 3600
        os.utime(store.path(digest), (at, at))
    counted = person.types("cleanup", "--older-than", "1h", "--dry-run")
    assert (counted.code, "would remove" in counted.out) == (ExitCode.COMPLETE, True)
    assert store.path(old).exists()
    cleaned = json.loads(person.types("cleanup", "--older-than", "1h", "--json").out)
    assert cleaned["open_sessions"] >= 1
    assert session not in cleaned["host"]["sessions"]
    assert (store.path(young).exists(), store.path(old).exists()) == (True, False)
    assert person.types("cleanup", "--older-than", "soon").code == ExitCode.USAGE
    assert person.view(session).live
    person.types("stop", session)


def test_a_task_is_shown_in_full(person: Person) -> None:
    session = person.starts("--auto-approve").session
    shown = person.types("task", "t1", "--session", session)
    assert (shown.code, "  - it works" in shown.out) == (ExitCode.COMPLETE, True)
    assert "\u001b" not in shown.out


@pytest.mark.parametrize(
    "variables",
    [{"COLUMNS": "40"}, {"LC_ALL": "C", "PYTHONUTF8": "0"}, {"TERM": "dumb", "NO_COLOR": "1"}],
)
@pytest.mark.parametrize(
    "words",
    [
        ("status",),
        pytest.param(("plan",), marks=pytest.mark.slow),
        pytest.param(("task", "t1", "-s"), marks=pytest.mark.slow),
    ],
)
@pytest.mark.slow
def test_r58_odd_terminals_get_the_title_literally(
    person: Person, variables: dict[str, str], words: tuple[str, ...]
) -> None:
    session = person.starts("--auto-approve").session
    shown = blueflame(person.settings, *words, session, more=variables)
    assert shown.returncode == 0, shown.stderr
    assert "[/red] [link=x]y[/link] \\x1b[2J" in shown.stdout
    assert "\u001b" not in shown.stdout
    assert shown.stderr == ""


@pytest.mark.parametrize("arguments", [("status",), ("plan",), ("ls",), ("status", "--json")])
@pytest.mark.slow
def test_r58_a_closed_pipe_is_no_error(person: Person, arguments: tuple[str, ...]) -> None:
    person.starts_and_sees("--auto-approve")
    reader, writer = os.pipe()
    os.close(reader)
    run = subprocess.run(
        [sys.executable, "-m", "starter", *arguments],
        env=environment(person.settings),
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writer)
    assert (run.returncode, run.stderr) == (0, b"")


class Terminal:
    """A command at a terminal, with someone who reads and types."""

    def __init__(self, settings: Settings, *arguments: str) -> None:
        self._end, other = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "starter", *arguments],
            env=environment(settings, TERM="xterm", COLUMNS="100"),
            stdin=other,
            stdout=other,
            stderr=other,
            start_new_session=True,
        )
        os.close(other)
        self._shown = Shown(self._end)

    @property
    def seen(self) -> str:
        """What was shown since it was last forgotten."""
        return self._shown.text

    def forgets(self) -> None:
        """Count what is shown from here on only."""
        self._shown.text = ""

    def reads_until(self, words: str) -> None:
        """Read until the words were shown."""
        self._shown.until(words)

    def types(self, text: str) -> None:
        """Type a line."""
        os.write(self._end, text.encode())

    def leaves(self) -> int:
        """Read to the end and return the exit code."""
        self._shown.rest()
        os.close(self._end)
        return self.process.wait(PATIENCE)


@pytest.mark.slow
def test_at_a_terminal_a_person_is_asked(person: Person) -> None:
    session = person.starts().session
    terminal = Terminal(person.settings, "watch", session, "--plain")
    terminal.reads_until("Approve the plan?")
    assert "it works" in terminal.seen
    terminal.types("maybe\ny\n")
    terminal.reads_until("Merge c1? [y]es, [n]o, [l]ater, [d]iff: ")
    terminal.types("d\n")
    # The diff, or why there is none; then the question again.
    terminal.reads_until("no validated work to show yet")
    terminal.types("n\n")
    terminal.reads_until("Why?")
    terminal.types("too large\n")
    # It waits again, with another digest.
    terminal.forgets()
    terminal.reads_until("Merge c1?")
    branch = f"blueflame/{session}"
    git(person.repo, "branch", branch)
    terminal.types("y\n")
    # There is nothing to move to: nothing is offered.
    assert terminal.leaves() == ExitCode.COMPLETE
    assert "Fast-forward" not in terminal.seen


def at_the_offer(person: Person) -> tuple[Terminal, str, str]:
    """Approve all at a terminal; return it at the offer, the session's branch and its commit."""
    session = person.starts().session
    branch = f"blueflame/{session}"
    work = git(person.repo, "commit-tree", "-p", "HEAD", "-m", "work", "HEAD^{tree}")
    git(person.repo, "branch", branch, work)
    terminal = Terminal(person.settings, "watch", session, "--plain")
    terminal.reads_until("Approve the plan?")
    terminal.types("y\n")
    terminal.reads_until("Merge c1?")
    assert person.types("pause", session).code == 0
    terminal.types("y\n")
    terminal.reads_until("queued")  # the session is seen once while it waits for no one
    assert person.types("proceed", session).code == 0
    terminal.reads_until(f"Fast-forward your branch main to {branch}? [y]es, [l]ater: ")
    return terminal, branch, work


@pytest.mark.parametrize(
    ("answer", "moves"), [("y", True), pytest.param("", False, marks=pytest.mark.slow)]
)
@pytest.mark.slow
def test_at_the_end_the_fast_forward_is_offered(person: Person, answer: str, moves: bool) -> None:
    before = git(person.repo, "rev-parse", "HEAD")
    terminal, branch, work = at_the_offer(person)
    terminal.types(f"{answer}\n")
    assert terminal.leaves() == ExitCode.COMPLETE
    assert git(person.repo, "rev-parse", "HEAD") == (work if moves else before)
    assert (f"main is at {branch} now" in terminal.seen) is moves


@pytest.mark.slow
def test_ctrl_c_at_the_offer_leaves_the_session_complete(person: Person) -> None:
    terminal, _, _ = at_the_offer(person)
    os.kill(terminal.process.pid, 2)
    assert terminal.leaves() == ExitCode.COMPLETE
    assert "detached" not in terminal.seen


@pytest.mark.slow
def test_who_was_asked_nothing_is_not_asked_at_the_end(person: Person) -> None:
    session = person.starts("--auto-approve").session
    work = git(person.repo, "commit-tree", "-p", "HEAD", "-m", "work", "HEAD^{tree}")
    git(person.repo, "branch", f"blueflame/{session}", work)
    terminal = Terminal(person.settings, "watch", session, "--plain")
    assert terminal.leaves() == ExitCode.COMPLETE
    assert f"fast-forward {session}" in terminal.seen


def test_r58_ctrl_c_detaches_and_the_session_goes_on(person: Person) -> None:
    session = person.starts().session
    terminal = Terminal(person.settings, "watch", session, "--plain")
    terminal.reads_until("Approve the plan?")
    os.kill(terminal.process.pid, 2)
    assert terminal.leaves() == ExitCode.INTERRUPTED
    assert f"\ndetached; session {session} goes on" in terminal.seen
    assert f"watch {session}" in terminal.seen
    assert "Traceback" not in terminal.seen
    # A person who presses it twice may miss the words, and sees no more.
    again = Terminal(person.settings, "watch", session, "--plain")
    again.reads_until("Approve the plan?")
    for _ in range(2):
        os.kill(again.process.pid, 2)
    assert again.leaves() == ExitCode.INTERRUPTED
    assert "Traceback" not in again.seen
    person.types("stop", session)


@pytest.mark.slow
def test_ctrl_c_before_there_is_a_session_says_so(person: Person, tmp_path: Path) -> None:
    reached, released = tmp_path / "reached", tmp_path / "released"
    for each in (reached, released):
        os.mkfifo(each)
    slow = tmp_path / "git"
    slow.write_text(f"#!/bin/sh\necho here > '{reached}'\nread line < '{released}'\n")
    slow.chmod(0o755)
    with subprocess.Popen(
        [sys.executable, "-m", "starter", "run", "Broken off", "--repo", str(person.repo)],
        env=environment(person.settings, PATH=f"{tmp_path}:{os.environ['PATH']}"),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as run:
        reached.read_text()
        run.send_signal(signal.SIGINT)
        out, err = run.communicate()
    # Its git waits for a line; no one may be left behind.
    with contextlib.suppress(OSError):
        os.close(os.open(released, os.O_WRONLY | os.O_NONBLOCK))
    assert (run.returncode, err) == (ExitCode.INTERRUPTED, "")
    assert out == "interrupted: no session was started\n"
    assert person.goals() == {"Fix it"}


def test_without_an_id_the_open_session_is_meant(person: Person) -> None:
    # The others of this module are ended, or end, by their own tests; an open one goes first.
    session = person.starts_and_sees()
    assert session in person.types("status").out
    person.types("stop", session)


def test_up_refuses_a_playbook_that_the_workers_here_do_not_play(
    person: Person, tmp_path: Path
) -> None:
    file = tmp_path / "greeting.yaml"
    assert "is not a file" in person.types("up", "--detach", "--playbook", str(file)).err
    file.write_text("schema: 1\nname: greeting\nscenes: [{role: planner, turns: [{text: Hello.}]}]")
    refused = person.types("up", "--detach", "--playbook", str(file))
    assert (refused.code, "do not play" in refused.err) == (ExitCode.USAGE, True)


def test_without_a_worker_or_a_server_it_says_what_to_do(person: Person, tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "data")
    away = Person(settings, person.repo, person.config).types("status")
    assert (away.code, "`blueflame up --detach` starts" in away.err) == (ExitCode.UNAVAILABLE, True)
