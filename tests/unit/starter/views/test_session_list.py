"""`starter.views.session_list`: the lines of `ls`."""

from datetime import UTC, datetime

from starter.sessions.shown_session import SessionSummary
from starter.views import session_list
from tests.unit.starter.shown import session
from workflows.domain.ids import SessionId

LISTED = SessionSummary(
    session=SessionId("s1"),
    goal="Fix\nit",
    repository="/r",
    status="running",
    state="open",
    started_at=datetime(2026, 11, 27, 12, tzinfo=UTC),
    closed_at=None,
)


def test_a_list_has_one_line_a_session() -> None:
    assert session_list.sessions([LISTED]) == ["s1  open       2026-11-27 12:00  Fix it"]
    assert session_list.sessions([]) == ["no session yet; `run GOAL` starts one"]


def test_a_listed_session_shows_its_own_view() -> None:
    seen = session(sandbox="none", scripted=True)
    entry = session_list.summary(LISTED, seen)
    line = "s1  running    2026-11-27 12:00  Fix it  (SCRIPTED, sandbox NONE)"
    assert session_list.sessions([entry]) == [line]


def test_a_session_that_does_not_answer_is_listed_as_it_is_known() -> None:
    assert session_list.summary(LISTED, None) == LISTED
