"""A whole review by keys in a terminal, on a session that speaks to its models over HTTP."""

import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from starter.console.exit_codes import ExitCode
from tests.e2e.full_screen import FullScreen
from tests.e2e.processes import blueflame, repository
from tests.e2e.wire_tap import WireTap, simulated
from workers.settings import Settings

pytestmark = pytest.mark.e2e

PLAY = """
schema: 1
name: review
scenes:
  - role: planner
    turns:
      - calls:
          - submit_plan:
              tasks:
                - {id: note, title: A note, acceptance_criteria: [It says so], claims: [note.txt]}
                - {id: guide, title: Help, acceptance_criteria: [It helps], claims: [guide.txt]}
  - role: developer
    task: note
    turns:
      - calls: [{write: {path: note.txt, content: "a note\\n"}}]
      - calls: [{submit: {summary: It is there.}}]
  - role: developer
    task: note
    attempt: 2
    turns:
      - calls: [{write: {path: note.txt, content: "a note, in full\\n"}}]
      - calls: [{submit: {summary: It is there in full.}}]
  - role: developer
    task: guide
    turns:
      - calls: [{ask: {question: For whom is it?}}]
      - calls: [{write: {path: guide.txt, content: "a guide\\n"}}]
      - calls: [{bash: {command: "echo and more >> guide.txt"}}]
      - calls: [{submit: {summary: It is there.}}]
  - role: developer
    task: guide
    attempt: 2
    turns:
      - calls: [{submit: {summary: It is short again.}}]
  - role: reviewer
    task: note
    turns:
      - calls:
          - submit_verdict:
              approve: true
              summary: It is there.
              evidence:
                - {criterion: "1", path: note.txt, line_start: 1, line_end: 1, quote: a note}
  - role: reviewer
    task: guide
    turns:
      - calls:
          - submit_verdict:
              approve: true
              summary: It is there.
              evidence:
                - {criterion: "1", path: guide.txt, line_start: 1, line_end: 1, quote: a guide}
"""
CONFIGURATION = """
version: 1
sandbox: none
models:
  planner: [openai/gpt-5]
  developer: [openai/gpt-5]
  reviewer: [anthropic/claude-sonnet-4-5]
gates:
  files: {run: [ls]}
"""
EDITOR = """
import pathlib, sys
file = pathlib.Path(sys.argv[1])
title = input("Title of the note? ")
file.write_text(file.read_text().replace("A note", title))
"""
HOME = "\x1b[H"


class Desk:
    """A repository, a terminal's variables, and commands in a second terminal."""

    def __init__(self, root: Path) -> None:
        self.settings = Settings(data_dir=root / "data", temporal_port=0, ui_port=0, sandbox="none")
        self.repository = repository(root / "sample", {"a.txt": "a\n"})
        self.config, self.playbook = root / "config.yaml", root / "playbook.yaml"
        self.config.write_text(CONFIGURATION)
        self.playbook.write_text(PLAY)
        editor = root / "editor.py"
        editor.write_text(EDITOR)
        self.variables = {"VISUAL": f"{sys.executable} {editor}"}

    def types(self, *arguments: str) -> str:
        """Run one command to its end in another terminal; return what it said."""
        done = blueflame(self.settings, *arguments, more=self.variables)
        assert done.returncode in {ExitCode.COMPLETE, ExitCode.WAITING}, done.stdout + done.stderr
        return done.stdout

    def file(self, session: str, name: str) -> str | None:
        """Return a file of the session's branch; None if it is not there."""
        place = f"blueflame/{session}:{name}"
        git = ("git", "-C", str(self.repository), "show", place)
        shown = subprocess.run(git, check=False, capture_output=True, text=True)
        return shown.stdout if shown.returncode == 0 else None


@pytest.fixture
def wire(tmp_path: Path) -> Generator[tuple[Desk, WireTap]]:
    """A desk whose workers run, and a tap on what they send to their models."""
    desk = Desk(tmp_path)
    with simulated(desk.settings, desk.playbook) as tap:
        desk.variables |= tap.variables
        desk.types("up", "--detach")
        try:
            yield desk, tap
        finally:
            desk.types("up", "--stop")


def on_task(screen: FullScreen, place: int, row: str) -> None:
    """Move to a task by its place among the rows, from 0."""
    screen.presses(f"1{HOME}{'j' * place}")
    screen.sees(f"> {row}")


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_session_is_reviewed_to_its_end_by_keys(wire: tuple[Desk, WireTap]) -> None:
    desk, tap = wire
    given = ("--repo", str(desk.repository), "--config", str(desk.config))
    session = desk.types("run", "Two texts", *given).split()[1]
    with FullScreen(desk.settings, "watch", session, size=(110, 30), **desk.variables) as screen:
        _edit_the_plan(screen)
        _answer(screen)
        _reject_with_a_comment(screen)
        assert tap.requests_with("Task: note", "- note.txt:1 `a note`: in full")
        desk.types("approve", "note", "--session", session)
        screen.sees("merged note")
        _rewind(screen)
        _revert(screen)
        screen.sees("[l]ater:")
        screen.presses("l\n")
        assert screen.leaves() == ExitCode.COMPLETE
    assert desk.file(session, "note.txt") is None
    assert desk.file(session, "guide.txt") == "a guide\n"
    assert not tap.requests_with("Task: revert-note")


def _edit_the_plan(screen: FullScreen) -> None:
    screen.sees("Waiting for you (1): a approve")
    screen.presses("e")
    screen.sees("Title of the note?")
    screen.presses("A good note\r")
    screen.sees("changed note")
    screen.presses("q")
    screen.sees("A good note")


def _answer(screen: FullScreen) -> None:
    screen.sees("For whom is it?")
    screen.presses("w")
    screen.sees("guide asks: For whom is it?")
    screen.presses("for beginners\r")
    screen.sees("answer: done")


def _reject_with_a_comment(screen: FullScreen) -> None:
    screen.sees("changeset note")
    on_task(screen, 0, "validated note")
    screen.presses("d")
    screen.sees("+a note")
    screen.presses("jjjjjjc")
    screen.sees("Comment on this line:")
    screen.presses("in full\r")
    screen.sees("# in full")
    screen.presses("q")
    screen.sees("Waiting for you")
    screen.presses("r")
    screen.sees("with 1 comment")
    screen.presses("write it again\r")
    screen.sees("reject changeset: done")
    screen.sees("validated note 2")


def _rewind(screen: FullScreen) -> None:
    on_task(screen, 0, "validated guide")
    screen.presses("b")
    screen.sees("Rewind task guide")
    screen.presses("2 that was enough\r")
    screen.sees("rewind task: done")
    screen.sees("validated guide 2")


def _revert(screen: FullScreen) -> None:
    on_task(screen, 1, "merged note")
    screen.presses("u")
    screen.sees("Take the merged work of task note back")
    screen.presses("not wanted\r")
    screen.sees("changeset revert-note")
    on_task(screen, 1, "validated revert-note")
    screen.presses("a")
    screen.sees("Approve changeset revert-note")
    screen.presses("y")
    screen.sees("merged revert-note")
    on_task(screen, 0, "validated guide")
    screen.presses("a")
    screen.sees("Approve changeset guide")
    screen.presses("y")
