"""`starter.follow.watching` without a terminal: no one is asked, and nothing waits for a key."""

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from starter.console.exit_codes import ExitCode
from starter.decisions import decision_checks
from starter.follow.watching import Watch
from starter.sessions.shown_session import ProviderWait, ShownSession
from starter.views import session_words
from tests.unit.starter.shown import changeset, sent_back, session, task
from workflows.domain.session.session_modes import SessionPhase
from workflows.domain.task import TaskState

PLAN = session(phase=SessionPhase.AWAITING_PLAN, tasks=(task("a"),))
READY = session(changesets=(changeset("a", "awaiting_approval"),))
PAUSED = session(phase=SessionPhase.PAUSED, reason="the cap is reached")
STUCK = session(reason="not done: a (failed)", tasks=(task("a", TaskState.FAILED, attempt=3),))
AGAIN = session(reason="not done: a (failed)", tasks=(task("a", TaskState.FAILED, attempt=4),))
RUNNING = session(tasks=(task("a", TaskState.DEVELOPING, attempt=1),))
WAIT = ProviderWait(
    agent="dev.a.1",
    model="openai/gpt-5",
    until=datetime(2026, 11, 27, 15, tzinfo=UTC),
    reason="openai answered 429: Rate limit reached",
)
ENDED = session(phase=SessionPhase.ENDED, outcome="complete", live=False)


class Looks:
    """A session that looks as told, one look after the other."""

    def __init__(self, looks: Sequence[ShownSession]) -> None:
        self.left = list(looks)

    async def view(self, session: str) -> ShownSession:
        return self.left.pop(0)

    async def waits(self, session: str) -> tuple[ProviderWait, ...]:
        return (WAIT,)


async def watched(
    *looks: ShownSession, patient: bool = False, json: bool = False
) -> tuple[ExitCode, int]:
    """Follow, and say how it ended and how many looks were left."""
    found = Looks(looks)
    watch = Watch(found, looks[0].session, patient=patient, json=json)  # pyright: ignore[reportArgumentType] (a stand-in)
    return await watch.follow(), len(found.left)


@pytest.mark.parametrize(
    ("waits", "command"),
    [
        (PLAN, "blueflame approve plan"),
        (READY, "blueflame approve a --digest"),
        (PAUSED, "blueflame resume"),
        (STUCK, "blueflame retry a"),
    ],
)
async def test_a_session_that_waits_ends_the_watch_with_the_commands(
    waits: ShownSession, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await watched(waits, ENDED) == (ExitCode.WAITING, 1)
    assert command in capsys.readouterr().out


@pytest.mark.slow
async def test_with_wait_the_watch_continues_and_prints_each_need_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    looks = (STUCK, STUCK, RUNNING, AGAIN, ENDED)
    assert await watched(*looks, patient=True) == (ExitCode.COMPLETE, 0)
    assert capsys.readouterr().out.count("waits for you") == 2


async def test_a_plan_that_was_sent_back_is_another_need_even_with_the_same_titles(
    capsys: pytest.CaptureFixture[str],
) -> None:
    looks = (PLAN, sent_back(PLAN), ENDED)
    assert await watched(*looks, patient=True) == (ExitCode.COMPLETE, 0)
    assert capsys.readouterr().out.count("blueflame approve plan") == 2


async def test_an_answer_about_a_plan_is_not_sent_once_another_plan_waits(
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = decision_checks.plan(PLAN)
    watch = Watch(Looks([sent_back(PLAN)]), PLAN.session)  # pyright: ignore[reportArgumentType] (a stand-in, which takes no decision)
    await watch._send(asked, decision_checks.approval(asked, "me"))  # pyright: ignore[reportPrivateUsage] (no terminal asks here)
    assert session_words.OTHER_PLAN in capsys.readouterr().out


async def test_each_change_is_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert await watched(RUNNING, RUNNING, PLAN, ENDED, json=True) == (ExitCode.WAITING, 1)
    assert await watched(RUNNING, RUNNING, ENDED, json=True) == (ExitCode.COMPLETE, 0)
    told = map(ShownSession.model_validate_json, capsys.readouterr().out.splitlines())
    waits = {"waits": (WAIT,)}
    running, plan = (each.model_copy(update=waits) for each in (RUNNING, PLAN))
    assert list(told) == [running, plan, running, ENDED]


async def test_a_running_session_is_followed_to_its_end() -> None:
    assert await watched(RUNNING, ENDED) == (ExitCode.COMPLETE, 0)


@pytest.mark.slow
async def test_a_wait_for_a_provider_is_printed_once_with_its_end(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Field report R13."""
    assert await watched(RUNNING, RUNNING, RUNNING, ENDED) == (ExitCode.COMPLETE, 0)
    line = "  dev.a.1 waits for openai/gpt-5 until 2026-11-27 15:00:00 UTC: openai answered 429"
    assert capsys.readouterr().out.count(line) == 1
    whole = session_words.status(RUNNING.model_copy(update={"waits": (WAIT,)}), "blueflame")
    assert whole[whole.index("Waiting for a provider") + 1].startswith(line)
