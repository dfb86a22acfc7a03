"""The check of a collected diff on real work: every violation with its path and line."""

from pathlib import Path

import pytest

from activities.repository.diff_check import check_diff
from tests.unit.activities.adapters.git.home import WHEN, Home, write
from workflows.contracts.host_contracts import FinishTask
from workflows.domain.agent.agent_values import WorktreeRef
from workflows.domain.ids import Commit, TaskId

KEY = "ghp_" + "a" * 36


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path)
    made.make({"src/a.py": "x = 1\n", "README": "x\n"})
    return made


async def checked(
    home: Home, **asked: object
) -> tuple[list[tuple[str, str | None, int | None]], tuple[str, ...]]:
    collected = await home.collect()
    commit = await home.commit_work()
    request = FinishTask.model_validate(
        {
            "worktree": WorktreeRef.model_construct(),
            "task": TaskId("t1"),
            "title": "t",
            "attempt": 1,
            "base": home.base,
            "checkpoint": Commit(commit),
            "claims": ("src/**",),
            "at": WHEN,
            **asked,
        }
    )
    found = await check_diff(home.host, request, collected.findings)
    return [(each.rule.value, each.path, each.line) for each in found.violations], found.notices


async def test_work_that_keeps_the_rules(home: Home):
    place = await home.start()
    write(place, {"src/a.py": "x = 2\n"})
    (place / "src/a.py").chmod(0o755)
    assert await checked(home) == ([], ("src/a.py: mode 100644 is now 100755",))


async def test_every_violation_with_its_place(home: Home):
    place = await home.start()
    write(place, {"src/a.py": f"x = 1\ny = '{KEY}'\n", "src/A.py": "x\n", "README": "y\n"})
    write(place, {"src/nested/f": "x"})
    (place / "src/nested/.git").mkdir()
    (place / "src/out").symlink_to("/etc/passwd")
    found, _ = await checked(home)
    assert sorted(found, key=str) == [
        ("collision", "src/A.py", None),
        ("nested-git", "src/nested", None),
        ("secret", "src/a.py", 2),
        ("symlink", "src/out", None),
        ("write", "README", None),
    ]


async def test_a_person_may_allow_a_path_to_hold_a_key(home: Home):
    place = await home.start()
    write(place, {"src/a.py": f"{KEY}\n"})
    assert await checked(home, allow_secret=("src/a.py",)) == ([], ())


async def test_lines_of_too_large_a_diff_are_never_read(home: Home):
    place = await home.start()
    write(place, {"src/a.py": f"{KEY}\n"})
    found, _ = await checked(home, limits={"changed_bytes": 10})
    assert found == [("diff-size", None, None)]


async def test_a_thousand_files(home: Home):
    place = await home.start()
    write(place, {f"src/d{n % 40}/f{n}.py": f"x = {n}\n" * 20 for n in range(1_000)})
    write(place, {"src/d7/key.py": f"\n\n{KEY}\n"})
    assert await checked(home) == ([("secret", "src/d7/key.py", 3)], ())
