"""`starter.follow.turn_log`: a log says of its session what no view may leave out."""

import json

import pytest

from starter.follow.turn_log import TurnLog
from starter.sessions.shown_session import ShownSession
from starter.views import safety_labels
from tests.unit.starter.shown import session
from tests.unit.starter.views.test_turn_words import happening
from workflows.domain.ids import SessionId

BARE = session(sandbox="none", scripted=True)


class Started:
    """A session of which more is known at the second look."""

    async def view(self, wanted: SessionId) -> ShownSession:
        assert wanted == BARE.session
        return BARE


def turn_log(view: ShownSession, *, as_json: bool) -> TurnLog:
    return TurnLog(Started(), view, json=as_json)  # pyright: ignore[reportArgumentType] (a stand-in)


@pytest.mark.parametrize("first", [BARE, session(sandbox="", scripted=True)])
async def test_the_marks_are_said_once_before_the_first_turn(
    first: ShownSession, capsys: pytest.CaptureFixture[str]
) -> None:
    log = turn_log(first, as_json=False)
    log.begin()
    for _ in range(2):
        await log.tell(happening("told", text="go on"))
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == safety_labels.of(BARE)
    assert sum("NONE" in line for line in lines) == 1
    assert [line for line in lines if "go on" in line] == ["    go on"] * 2


@pytest.mark.parametrize("first", [BARE, session(sandbox="")])
async def test_each_document_says_what_confines(
    first: ShownSession, capsys: pytest.CaptureFixture[str]
) -> None:
    log = turn_log(first, as_json=True)
    log.begin()
    await log.tell(happening("told", text="go on"))
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line)["sandbox"] == "none"
