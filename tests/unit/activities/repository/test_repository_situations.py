"""What went wrong for people with repositories of their own kind, each as it would begin.

Shallow clones, submodules, files under LFS, a changelog that every task adds to: what agents are
told beforehand, what is collected, merged and brought back.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from activities.adapters.sandbox.bubblewrap import BubblewrapSandbox
from activities.ports.user_repository import Landed
from tests.unit.activities.adapters.git.home import BRANCH, Home, plain_git, write
from tests.unit.activities.situations import Situation, bash
from workflows.contracts.host_contracts import WorkRefused
from workflows.contracts.merging_contracts import MergeConflict, MergedCommits
from workflows.domain.ids import Commit

pytestmark = pytest.mark.sandbox

POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 4\n"


@pytest.fixture
def situation(tmp_path: Path) -> Situation:
    return Situation(tmp_path, BubblewrapSandbox())


@pytest.mark.sampled(2)
@pytest.mark.parametrize("depth", [1, 2])
async def test_r02_two_tasks_of_a_shallow_clone_are_merged_and_land(
    situation: Situation, depth: int
):
    def shallow(home: Home) -> None:
        home.make({"f": "one\n"})
        home.commit({"f": "two\n"})
        home.commit({"f": "three\n"})
        plain_git(home.top, "clone", "-q", f"--depth={depth}", f"file://{home.path}", "shal")
        home.path = home.top / "shal"

    agents = await situation.begin(shallow, "a", "b")
    for number, agent in enumerate(agents):
        await agent.turn(("write", {"path": f"new{number}", "content": "x\n"}))
    merged = await situation.merge(*[await agent.commit() for agent in agents])
    assert isinstance(merged, MergedCommits)
    assert isinstance(await situation.home.land(merged.commit), Landed)
    shown = situation.home.run("log", "--format=%s", "--topo-order", BRANCH).splitlines()
    assert len(shown) == depth + 3, "the clone's, two tasks and their merge"
    assert situation.home.run("fsck") == ""


def with_submodule(home: Home) -> None:
    library = home.top / "lib"
    library.mkdir()
    plain_git(library, "init", "-q")
    write(library, {"f": "x"})
    plain_git(library, "add", "f")
    plain_git(library, "commit", "-q", "-m", "x")
    home.make({"a.txt": "one\n"})
    home.run("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "sub")
    home.commit({})


async def test_r07_a_submodule_is_announced_and_lands_as_it_was(situation: Situation):
    (agent,) = await situation.begin(with_submodule, "a")
    base, brief = await situation.known()
    announced = "submodule 'sub' is empty in worktrees"
    assert announced in base.warnings
    assert announced in brief.splitlines()
    assert (agent.path / "sub").is_dir()
    (seen,) = await agent.turn(("write", {"path": "a.txt", "content": "two\n"}))
    assert "not collected" not in seen
    assert isinstance(await situation.home.land(await agent.commit()), Landed)
    link = situation.home.run("ls-tree", "HEAD", "sub")
    assert link.startswith("160000 ")
    assert situation.home.run("ls-tree", BRANCH, "sub") == link


@pytest.mark.parametrize(
    ("deed", "why"),
    [
        (("write", {"path": "sub/x.txt", "content": "x\n"}), "files were written in a submodule's"),
        (bash("rm -rf sub"), "its folder was deleted, the link is kept"),
    ],
)
async def test_r07_work_in_a_submodules_folder_is_a_finding_and_no_lost_file(
    situation: Situation, deed: tuple[str, dict[str, str]], why: str
):
    (agent,) = await situation.begin(with_submodule, "a")
    (seen,) = await agent.turn(deed)
    assert f"[not collected, so not part of your work:\nsub: 'sub' was not collected: {why}" in seen
    assert "put the work elsewhere" in seen
    done = await agent.submit()
    assert isinstance(done, WorkRefused)
    assert [(each.rule, each.path) for each in done.findings] == [("submodule", "sub")]


def with_lfs(home: Home) -> None:
    attributes = "*.bin filter=lfs diff=lfs merge=lfs -text\n"
    home.make({".gitattributes": attributes, "a.bin": POINTER, "x.py": "x = 1\n"})
    home.run("config", "filter.lfs.required", "true")
    for way in ("smudge", "clean", "process"):
        home.run("config", f"filter.lfs.{way}", f"touch {home.top}/PWNED; exit 1")


async def test_r21_pointers_stay_pointers_and_no_filter_runs(situation: Situation, tmp_path: Path):
    (agent,) = await situation.begin(with_lfs, "a")
    _, brief = await situation.known()
    assert "files under LFS (*.bin) are pointers in worktrees" in brief.splitlines()
    edit = ("edit", {"path": "x.py", "old": "1", "new": "2"})
    _, shown = await agent.turn(edit, bash("cat a.bin"))
    assert shown == f"{POINTER}[exit code 0]"
    work = await agent.commit()
    assert (await situation.gate(work, "grep", "-q", "git-lfs", "a.bin")).result == "passed"
    assert isinstance(await situation.home.land(work), Landed)
    assert situation.home.run("diff", "--name-only", "HEAD", BRANCH) == "x.py"
    assert not (tmp_path / "PWNED").exists()


async def test_r21_a_new_binary_under_an_lfs_pattern_is_a_finding(situation: Situation):
    (agent,) = await situation.begin(with_lfs, "a")
    (seen,) = await agent.turn(bash("head -c 5000 /dev/urandom > b.bin"))
    assert "b.bin: 'b.bin' was not collected: it is not an LFS pointer" in seen
    done = await agent.submit()
    assert isinstance(done, WorkRefused)
    assert [(each.rule, each.path) for each in done.findings] == [("lfs", "b.bin")]


def without_github(home: Home) -> None:
    home.make({"a.txt": "one\n"})


def with_github_elsewhere(home: Home) -> None:
    home.make({"a.txt": "one\n"})
    (home.path / ".github").symlink_to("../..")
    home.commit({})


@pytest.mark.parametrize("make", [without_github, with_github_elsewhere])
async def test_r59_an_absent_or_linked_protected_path_stops_nothing_and_leaves_no_trace(
    situation: Situation, make: Callable[[Home], None]
):
    (agent,) = await situation.begin(make, "a")
    told, denied = await agent.turn(
        bash("echo two > a.txt"), ("write", {"path": ".github/workflows/x.yml", "content": "x"})
    )
    assert told == "(no output)\n[exit code 0]"
    assert denied.startswith("'.github/workflows/x.yml' ")
    work = await agent.commit()
    before = situation.home.tree(situation.home.base)
    assert situation.home.tree(work) == before
    assert sorted(place.name for place in agent.path.iterdir()) == sorted([".git", *before])


@pytest.mark.slow
async def test_r53_twenty_thousand_files_are_refused_with_their_number(situation: Situation):
    (agent,) = await situation.begin(lambda home: home.make({"a.txt": "x\n"}), "a")
    make = "mkdir n; for i in $(seq 20000); do echo $i > n/$i; done"
    assert await agent.turn(bash(make)) == ("(no output)\n[exit code 0]",)
    done = await agent.submit()
    assert isinstance(done, WorkRefused)
    (finding,) = done.findings
    assert "20000" in finding.text


def with_changelog(home: Home) -> None:
    home.make({"CHANGELOG.md": "## Unreleased\n", ".gitattributes": "*.md merge=union\n"})


@pytest.mark.slow
async def test_r46_five_tasks_that_add_to_one_changelog_land_with_five_entries(
    situation: Situation,
):
    """What conflicts is done again on what was merged meanwhile; markers are never merged."""
    agents = await situation.begin(with_changelog, *"abcde")
    head = situation.home.base
    conflicts = 0
    for task, agent in zip("abcde", agents, strict=True):
        entry = ("edit", {"path": "CHANGELOG.md", "old": "ased\n", "new": f"ased\n- {task}\n"})
        await agent.turn(entry)
        merged = await situation.merge(await agent.commit(), head=head)
        if isinstance(merged, MergeConflict):
            conflicts += 1
            again = await situation.again(task, head)
            await again.turn(entry)
            merged = await situation.merge(await again.commit(), head=head)
        assert isinstance(merged, MergedCommits)
        head = merged.commit
    assert conflicts == 4, "the repository's own way of merging is not asked"
    content = await text_of(situation, head)
    assert content == "## Unreleased\n- e\n- d\n- c\n- b\n- a\n"


async def text_of(situation: Situation, commit: Commit) -> str:
    content = await situation.home.host.read_file(commit, "CHANGELOG.md")
    assert content is not None
    return content.decode()
