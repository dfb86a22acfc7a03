"""The check of a collected diff on real work: every violation with its path and line."""

from pathlib import Path

import pytest

from activities.ports.merge_values import Rebase
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


@pytest.mark.slow
async def test_a_thousand_files(home: Home):
    place = await home.start()
    write(place, {f"src/d{n % 40}/f{n}.py": f"x = {n}\n" * 20 for n in range(1_000)})
    write(place, {"src/d7/key.py": f"\n\n{KEY}\n"})
    assert await checked(home) == ([("secret", "src/d7/key.py", 3)], ())


async def test_g20_a_merged_line_that_the_work_takes_away_is_named(home: Home):
    first = home.base
    home.commit({"src/a.py": "x = 1\ny = 2\n", "src/b.py": "z = 3\n"})
    place = await home.start()
    write(place, {"src/a.py": "x = 1\nw = 5\n"})
    assert await checked(home, first_base=first) == ([("lost-line", "src/a.py", None)], ())
    assert await checked(home, first_base=first, task_text="replace `y = 2`") == ([], ())
    assert await checked(home) == ([], ())


async def test_what_a_merge_leaves_in_files_is_found(home: Home):
    home.commit({"src/a.json": '{"a": 1}\n', "src/up": "x\n"})
    place = await home.start()
    write(place, {"src/a.py": "<<<<<<< merged work\nx = 1\n=======\nx = 2\n>>>>>>> yours\n"})
    write(place, {"src/a.json": '{"a": 1, "a": 2}\n', "src/new.json": "{\n"})
    found, _ = await checked(home)
    assert sorted(found) == [
        ("conflict-marker", "src/a.py", None),
        ("structure", "src/a.json", None),
    ]


async def test_g26_a_link_that_leads_outside_through_a_merged_one_is_found(home: Home):
    """It stood in the worktree from the start, so that collecting does not look at it."""
    place = await home.start()
    (place / "src/out").symlink_to("../up/../x")
    work = await home.commit_work()
    other = (await home.host.create_worktree("t2", home.base)).path
    (other / "up").symlink_to("src/..")
    merged = await home.commit_work("t2")
    again = Rebase(base=merged, work=work, work_base=home.base, message="m", when=WHEN)
    start = (await home.host.rebase(again)).commit
    async with home.host.lock("t1"):
        await home.host.restore("t1", start)
    home.base = merged
    assert await checked(home) == ([("symlink", "src/out", None)], ())


SECRETS = "src/secrets/** filter=git-crypt\n"
CLAIMS = ("src/**", ".gitattributes")


async def test_g23_a_file_that_the_base_gives_to_a_filter_is_found_in_the_whole_work(home: Home):
    """An earlier attempt gave the filter up, so the worktree began without it."""
    home.commit({".gitattributes": SECRETS})
    place = await home.start()
    write(place, {".gitattributes": "* text\n"})
    start = await home.commit_work()
    again = (await home.host.create_worktree("t2", start)).path
    write(again, {"src/secrets/new": "plain\n", "src/a.py": "x = 2\n"})
    commit = await home.commit_work("t2")
    async with home.host.lock("t1"):
        await home.host.restore("t1", commit)
    assert await checked(home, claims=CLAIMS) == ([("filter", "src/secrets/new", None)], ())
    home.base = start
    assert await checked(home, claims=CLAIMS) == ([], ())


async def test_g23_a_file_that_the_work_itself_gives_to_a_filter_is_found(home: Home):
    place = await home.start()
    write(place, {"src/secrets/new": "plain\n"})
    await home.collect()
    write(place, {".gitattributes": SECRETS})
    assert await checked(home, claims=CLAIMS) == ([("filter", "src/secrets/new", None)], ())


async def test_deleting_a_filtered_file_and_giving_up_its_filter_is_allowed(home: Home):
    home.commit({".gitattributes": SECRETS, "src/secrets/old": b"\0GITCRYPT\0x"})
    place = await home.start()
    write(place, {".gitattributes": "* text\n"})
    (place / "src/secrets/old").unlink()
    assert await checked(home, claims=CLAIMS) == ([], ())


async def test_a_file_that_is_not_collected_is_told_once(home: Home):
    home.commit({".gitattributes": SECRETS})
    place = await home.start()
    write(place, {".gitattributes": "* text\n", "src/secrets/new": "plain\n"})
    assert await checked(home, claims=CLAIMS) == ([("filter", "src/secrets/new", None)], ())
