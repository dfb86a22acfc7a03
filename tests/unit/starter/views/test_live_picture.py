"""`starter.views.live_picture`: the picture fits, and what matters is in it."""

import pytest

from starter.views import session_words
from starter.views.live_picture import picture
from tests.unit.starter.shown import changeset, pull, session, task
from workflows.domain.session.session_modes import SessionPhase
from workflows.domain.task import TaskState

MANY = session(
    sandbox="none",
    scripted=True,
    tasks=(
        *(task(f"m{n}", TaskState.MERGED) for n in range(60)),
        task("here", TaskState.DEVELOPING, attempt=1, title="x" * 48),
        task("there", TaskState.FAILED, attempt=3),
    ),
    changesets=tuple(changeset(f"m{n}", "merged") for n in range(60)),
)


@pytest.mark.parametrize(("width", "height"), [(80, 23), (40, 23), (80, 10), (120, 50), (30, 8)])
def test_the_live_view_fits_the_terminal_and_shows_unfinished_tasks(
    width: int, height: int
) -> None:
    lines = picture(MANY, "blueflame", width, height)
    assert len(lines) <= height
    assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    assert "developing" in text
    assert "NONE" in text
    assert "SCRIPTED" in text
    assert " more" in text


def test_a_small_session_is_shown_completely() -> None:
    small = session(tasks=(task("a"),), changesets=(changeset("a", "collecting"),))
    assert picture(small, "blueflame", 200, 23) == session_words.status(small, "blueflame")


def test_the_newest_pull_requests_are_among_what_matters_first() -> None:
    proposed = MANY.model_copy(update={"pulls": tuple(pull(n, asked=n % 2) for n in range(1, 10))})
    lines = picture(proposed, "blueflame", 80, 23)
    assert "  pull request #9 open, 1 to fix  https://github.com/acme/shop/pull/9" in lines
    assert "  pull request #8 open  https://github.com/acme/shop/pull/8" in lines
    assert "  ... 7 more" in lines


def test_how_to_go_on_is_never_left_out() -> None:
    paused = MANY.model_copy(update={"phase": SessionPhase.PAUSED})
    assert f"  blueflame resume {MANY.session}" in picture(paused, "blueflame", 80, 23)
