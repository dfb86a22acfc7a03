"""One process answers one request after the other, and goes when there are no more."""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.waiting import until
from workers.hosting.report_process import ReportProcess, ReportProcessError
from workflows.domain.ids import SessionId

PROGRAM = """
import os, sys
for line in sys.stdin:
    session = line.strip()
    if session == "broken":
        sys.exit("the server is away")
    if session == "slow":
        sys.stdin.read()
    print(f"{os.getpid()} {session}", flush=True)
"""


@asynccontextmanager
async def answering(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stays_seconds: float = 600.0
) -> AsyncGenerator[ReportProcess]:
    (tmp_path / "scripted_reports.py").write_text(PROGRAM)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    process = ReportProcess("scripted_reports", stays_seconds)
    try:
        yield process
    finally:
        await process.close()


async def asked(process: ReportProcess, session: str) -> tuple[int, str]:
    number, _, answer = (await process.write(SessionId(session))).partition(" ")
    return int(number), answer


def is_gone(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return True
    return False


async def test_one_process_answers_all_each_with_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with answering(tmp_path, monkeypatch) as process:
        names = ["s1", "s2", "s3"]
        answers = await asyncio.gather(*(asked(process, name) for name in names))
        assert [answer for _, answer in answers] == names
        assert len({number for number, _ in answers}) == 1
    await until(lambda: is_gone(answers[0][0]), "the end of the process")


async def test_the_last_line_of_one_that_ends_is_told_and_the_next_is_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with answering(tmp_path, monkeypatch) as process:
        first, _ = await asked(process, "s1")
        with pytest.raises(ReportProcessError, match="the server is away"):
            await asked(process, "broken")
        second, answer = await asked(process, "s2")
        assert (answer, first != second) == ("s2", True)


async def test_an_answer_that_nobody_waits_for_is_given_to_nobody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with answering(tmp_path, monkeypatch) as process:
        first, _ = await asked(process, "s1")
        slow = asyncio.create_task(asked(process, "slow"))
        next_one = asyncio.create_task(asked(process, "s2"))
        await asyncio.sleep(0)  # both have begun: one asks, the other waits for its turn
        slow.cancel()
        number, answer = await next_one
        assert (answer, number != first) == ("s2", True)
        assert is_gone(first)


async def test_it_goes_when_nothing_more_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with answering(tmp_path, monkeypatch, stays_seconds=0.0) as process:
        first, _ = await asked(process, "s1")
        await until(lambda: is_gone(first), "the end of the process")
        second, _ = await asked(process, "s2")
        assert first != second
