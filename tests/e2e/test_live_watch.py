"""The full-screen `watch` in a real terminal, on real sessions of scripted models."""

import json
import os
import re
from pathlib import Path

import pytest

from starter.console.exit_codes import ExitCode
from tests.documented import unshown
from tests.e2e.full_screen import FullScreen
from tests.e2e.note_session import DEVELOPER, PLANNER, REVIEWER, NotePlace, served
from tests.waiting import PATIENCE

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]


def comments_on_the_first_line(screen: FullScreen, text: str) -> None:
    """Open the diff of the new note, comment on its line, and go back."""
    screen.presses("1d")
    screen.sees("+a note")
    screen.presses("jjjjjjc")
    screen.sees("Comment on this line:")
    screen.presses(f"{text}\r")
    screen.sees(f"# {text}")
    screen.presses("q")
    screen.sees("Waiting for you")


@pytest.mark.slow
def test_a_session_is_led_to_its_end_by_keys_and_from_a_second_terminal(tmp_path: Path) -> None:
    place = NotePlace(tmp_path, "approvals: {unjudged: allow}", PLANNER, DEVELOPER, REVIEWER)
    with served(place):
        session = place.runs("A note").stdout.split()[1]
        with FullScreen(place.settings, "watch", session) as screen:
            screen.sees("Waiting for you (1): a approve")
            screen.presses("2")
            screen.sees("note")
            screen.presses("a")
            screen.sees("Approve the plan?")
            screen.presses("y")
            screen.sees("changeset note")
            comments_on_the_first_line(screen, "in full")
            screen.presses("r")
            screen.sees("with 1 comment")
            screen.presses("write it again\r")
            screen.sees("reject changeset: done")
            # Its second attempt waits again: another person approves it.
            screen.sees("note  2")
            screen.sees("changeset note")
            screen.presses("\r")
            screen.sees("review.note.2.1")
            approved = place.types("approve", "note", "--session", session)
            assert approved.returncode == ExitCode.COMPLETE, approved.stderr
            # Who decided here is offered the fast-forward, as without the full screen.
            screen.sees("[l]ater:")
            screen.presses("l\n")
            assert screen.leaves() == ExitCode.COMPLETE
            assert "Waiting for you" not in screen.text
            assert f"Session {session}: complete" in screen.text
            task = json.loads(place.types("task", "note", "-s", session, "--json").stdout)["task"]
    assert "a person rejected the work: write it again" in task["notes"][-1]
    assert "- note.txt:1 `a note`: in full" in task["notes"][-1]


@pytest.mark.slow
def test_a_comment_on_a_line_reaches_the_next_attempt_and_its_fate_is_shown(
    tmp_path: Path,
) -> None:
    later = DEVELOPER.replace("role: developer", "role: developer\n    attempt: 2")
    later = later.replace('"a note\\n"', '"a note, in full\\n"')
    place = NotePlace(tmp_path, "approvals: {unjudged: allow}", PLANNER, later, DEVELOPER, REVIEWER)
    with served(place):
        session = place.runs("A note").stdout.split()[1]
        at = ("--session", session)
        assert place.types("approve", "plan", *at).returncode == ExitCode.COMPLETE
        place.types("watch", session)
        absent = place.types("reject", "note", "--comment", "other.txt:1:x", *at)
        assert (absent.returncode, "it changes note.txt" in absent.stderr) == (2, True)
        beyond = place.types("reject", "note", "--comment", "note.txt:9:x", *at)
        assert "line 9 of 'note.txt' is not in the changeset's diff" in beyond.stderr
        assert unshown("reviewing", beyond.stderr) == []
        rejected = place.types("reject", "note", "--comment", "note.txt:1:say more", *at)
        assert rejected.returncode == ExitCode.COMPLETE, rejected.stderr
        place.types("watch", session)
        told = place.types("diff", "note", "--side-by-side", *at)
        assert "note.txt:1 (attempt 1)  say more -> the line was changed or removed" in told.stderr
        assert "|    1 a note, in full" in told.stdout
        assert unshown("reviewing", told.stderr) == []
        task = json.loads(place.types("task", "note", "--json", *at).stdout)["task"]
        assert "- note.txt:1 `a note`: say more" in task["notes"][-1]
        place.types("stop", session)
        place.types("watch", session)
        late = place.types("revert", "note", *at)
        assert unshown("reviewing", late.stderr.replace(": note$", ": guide$")) == []


@pytest.mark.slow
def test_it_stays_readable_without_colour_and_leaves_the_session_alone(tmp_path: Path) -> None:
    place = NotePlace(tmp_path, "approvals: {unjudged: allow}", PLANNER, DEVELOPER, REVIEWER)
    with served(place):
        session = place.runs("A note").stdout.split()[1]
        with FullScreen(place.settings, "watch", session, NO_COLOR="1") as screen:
            screen.sees("> plan: 1 task")
            assert "SCRIPTED" in screen.text
            assert "NONE: commands" in screen.text
            assert not re.search(rb"\x1b\[[0-9;]*(3[1-7]|38;)[0-9;]*m", screen.raw)
            screen.presses("q")
            assert screen.leaves() == ExitCode.INTERRUPTED
            assert f"detached; session {session} goes on" in screen.text
            with FullScreen(place.settings, "watch", session) as again:
                again.sees("> plan: 1 task")
                os.kill(again.process.pid, 2)
                assert again.leaves() == ExitCode.INTERRUPTED
                assert "Traceback" not in again.text
                place.types("stop", session)


@pytest.mark.parametrize(
    "how", ["terminated", pytest.param("terminal closed", marks=pytest.mark.slow)]
)
@pytest.mark.slow
def test_a_view_that_is_told_to_end_ends_and_the_session_goes_on(tmp_path: Path, how: str) -> None:
    place = NotePlace(tmp_path, "approvals: {unjudged: allow}", PLANNER, DEVELOPER, REVIEWER)
    with served(place):
        session = place.runs("A note").stdout.split()[1]
        with FullScreen(place.settings, "watch", session) as screen:
            screen.sees("Waiting for you (1): a approve")
            if how == "terminated":
                screen.process.terminate()
                assert screen.leaves() == ExitCode.INTERRUPTED
            else:
                screen.closes()
                # Python itself makes 120 of it where nothing can be written any more.
                assert screen.process.wait(PATIENCE) in {ExitCode.INTERRUPTED, 120}
        shown = json.loads(place.types("status", session, "--json").stdout)
    assert shown["outcome"] is None
