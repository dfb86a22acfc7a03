"""`starter.follow.interrupted_start`: who interrupts a `run` is told whether there is a session."""

import asyncio

import pytest

from starter.follow.interrupted_start import Beginning, interrupted, told_if_interrupted


@pytest.mark.parametrize(
    ("beginning", "lines"),
    [
        (Beginning(), ["interrupted: no session was started"]),
        (
            Beginning(is_in_background=True),
            [
                "interrupted: no session was started",
                "server and workers may run in the background; `blueflame up --stop` ends them",
            ],
        ),
        (
            Beginning(session="s1"),
            ["interrupted: session s1 may have been started; `blueflame status s1` tells"],
        ),
    ],
)
def test_an_interrupted_start_reports_what_exists(beginning: Beginning, lines: list[str]) -> None:
    assert interrupted(beginning, "blueflame") == lines


@pytest.mark.parametrize("how", [asyncio.CancelledError, KeyboardInterrupt])
@pytest.mark.parametrize("beside", [True, False])
def test_it_is_said_once_and_documents_stay_alone(
    how: type[BaseException], beside: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(how), told_if_interrupted("blueflame", beside=beside):
        raise how
    out, err = capsys.readouterr()
    said, silent = (err, out) if beside else (out, err)
    assert (said, silent) == ("interrupted: no session was started\n", "")


def _interrupted_while_it_follows() -> None:
    with told_if_interrupted("blueflame", beside=False) as beginning:
        beginning.is_followed = True
        raise KeyboardInterrupt


def test_a_followed_session_or_an_error_is_not_reported_here(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(KeyboardInterrupt):
        _interrupted_while_it_follows()
    with pytest.raises(ValueError, match="odd"), told_if_interrupted("blueflame", beside=False):
        raise ValueError("odd")
    assert capsys.readouterr() == ("", "")
