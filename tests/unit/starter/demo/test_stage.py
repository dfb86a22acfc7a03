"""The demo plays on a fresh copy, and runs the sample's tests for real."""

from pathlib import Path

import pytest

from starter.console.command_errors import CommandError
from starter.demo import stage


@pytest.fixture
async def played(tmp_path: Path) -> stage.Stage:
    return await stage.set_up(tmp_path)


async def test_the_copy_is_a_clean_repository_of_its_own(played: stage.Stage, tmp_path: Path):
    assert played.repository.is_relative_to(tmp_path)
    assert await stage.git(played.repository, "status", "--porcelain") == ""
    assert await stage.git(played.repository, "branch", "--show-current") == "main"
    assert played.playbook.is_file()
    assert "\n" not in played.goal


async def test_the_suite_is_run_on_what_is_committed(played: stage.Stage):
    (played.repository / "tests" / "test_orders.py").write_text("raise SystemExit(9)")
    ran = await stage.run_suite(played, "main")
    assert (ran.exit_code, ran.tests, ran.failed, ran.is_green) == (1, 33, 23, False)


async def test_a_green_suite_is_seen_as_green(played: stage.Stage):
    for test in (played.repository / "tests").glob("test_*.py"):
        if test.name != "test_orders.py":
            test.unlink()
    await stage.git(played.repository, "commit", "--all", "--message", "Only what passes")
    ran = await stage.run_suite(played, "main")
    assert (ran.exit_code, ran.tests, ran.is_green) == (0, 3, True)


async def test_a_suite_without_tests_is_not_green(played: stage.Stage):
    for test in (played.repository / "tests").glob("test_*.py"):
        test.unlink()
    await stage.git(played.repository, "commit", "--all", "--message", "No tests")
    assert not (await stage.run_suite(played, "main")).is_green


async def test_a_branch_that_is_not_there_is_said(played: stage.Stage):
    with pytest.raises(CommandError, match="sample's repository"):
        await stage.run_suite(played, "blueflame/none")
