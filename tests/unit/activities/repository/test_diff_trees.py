"""The check of a diff between any two trees: nothing crashes, and what was put in is found.

The trees are written as git's objects, so that they may hold what no worktree of ours would.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import pytest_asyncio
from hypothesis import given
from hypothesis import strategies as st

from activities.adapters.git import loose_objects
from activities.adapters.git.worktrees.collected_names import shown
from activities.repository.diff_check import Checked, check_diff
from tests.effort import examples
from tests.unit.activities.adapters.git.home import WHEN, Home
from workflows.contracts.host_contracts import FinishTask
from workflows.domain.agent.agent_values import WorktreeRef
from workflows.domain.ids import Commit, TaskId, Tree
from workflows.domain.violation import DiffRule

pytestmark = pytest.mark.fuzz

KEY = b"ghp_" + b"a" * 36
Entry = tuple[str, bytes]
"""A mode, and what stands behind it: a file's bytes, a link's target, or a submodule's commit."""
Files = Mapping[bytes, Entry]

NAMES = st.sampled_from(
    [
        b"a", b"A", b"b.py", b"caf\xc3\xa9", b"CAF\xc3\x89", b"cafe\xcc\x81", b"\xff\xfe", b"x\ny",
        b"x\ty",
        b'"q"', b"\\", b".git", b".GIT", b".gitattributes", b"-x", b" ", b"*",
        b"uv.lock", b"a\xe2\x80\xaeb",
    ]
)  # fmt: skip
FOLDERS = st.sampled_from([b"src/", b"src/", b"src/d/", b"Src/", b"", b"a/", b".git/"])
PATHS = st.builds(bytes.__add__, FOLDERS, NAMES)
LINES = st.sampled_from(
    [
        b"x", b"y", b"", KEY, b"key = '" + KEY + b"'", b"\0", b"-- a", b"++ b", b"@@ -1,3 +1,9 @@",
        b"-", b"+", b"diff --git a/x b/x", b"\\ No newline at end of file", b"\r", b"\xff",
        b"* binary", b"k\0" + KEY,
    ]
)  # fmt: skip
CONTENTS = st.lists(LINES, max_size=5).map(b"\n".join)
ENTRIES = st.one_of(
    st.tuples(st.sampled_from(["100644", "100644", "100755", "100664"]), CONTENTS),
    st.tuples(st.just("120000"), st.sampled_from([b"a", b"/etc/passwd", b"..", KEY])),
    st.tuples(st.just("160000"), st.sampled_from([b"1" * 40, b"2" * 40])),
)
FILES = st.dictionaries(PATHS, ENTRIES, max_size=6)


@pytest_asyncio.fixture
async def home(tmp_path: Path) -> Home:
    made = Home(tmp_path)
    made.make({"x": "x"})
    await made.start()
    return made


class Forge:
    """Writes trees and commits as they are told, right or wrong."""

    def __init__(self, home: Home) -> None:
        (bare,) = (home.top / "host" / "repositories").iterdir()
        self._objects, self._like = bare / "objects", home.base

    def commit(self, files: Files) -> Commit:
        tree = Tree(self._tree(files))
        return Commit(self._write("commit", loose_objects.commit_text(tree, (), "x", WHEN)))

    def _write(self, kind: str, data: bytes) -> str:
        return loose_objects.write(self._objects, kind, data, self._like)

    def _tree(self, files: Files) -> str:
        entries: dict[bytes, tuple[str, str]] = {}
        for name in {path.partition(b"/")[0] for path in files}:
            prefix = name + b"/"
            below = {
                path[len(prefix) :]: one
                for path, one in files.items()
                if prefix in path[: len(prefix)]
            }
            if below:
                entries[name] = ("40000", self._tree(below))
            else:
                mode, data = files[name]
                entries[name] = (
                    mode,
                    data.decode() if mode == "160000" else self._write("blob", data),
                )
        ordered = sorted(entries.items(), key=lambda one: one[0] + b"/" * (one[1][0] == "40000"))
        return self._write(
            "tree",
            b"".join(
                f"{mode} ".encode() + name + b"\0" + bytes.fromhex(oid)
                for name, (mode, oid) in ordered
            ),
        )


def whole(files: Files) -> Files:
    """Leave out files that stand where a folder has to be."""
    folders = {path[:at] for path in files for at in range(len(path)) if path[at : at + 1] == b"/"}
    return {path: one for path, one in files.items() if path not in folders}


async def checked(home: Home, base: Files, work: Files) -> Checked:
    forge = Forge(home)
    request = FinishTask(
        worktree=WorktreeRef.model_construct(),
        task=TaskId("t1"),
        title="t",
        attempt=1,
        base=forge.commit(base),
        checkpoint=forge.commit(work),
        claims=("src/**",),
        at=WHEN,
    )
    return await check_diff(home.host, request, ())


def usual(entry: Entry | None) -> Entry | None:
    """Git takes every mode of a file for one of two."""
    if entry is None:
        return None
    mode, data = entry
    return ("100755" if int(mode, 8) & 0o100 else "100644", data) if mode[:3] == "100" else entry


def keys(entry: Entry | None) -> int:
    return entry[1].replace(b"\0", b"").count(KEY) if entry else 0


def put_in(base: Files, work: Files) -> Iterator[tuple[str, str]]:
    """Tell which rules a diff breaks, and where, as far as that is plain from the two trees."""
    for path in changed(base, work):
        name, entry = shown(path), work.get(path)
        if not path.startswith(b"src/") or b".git" in path.lower().split(b"/"):
            yield "write", name
        if entry is None:
            continue
        if entry[0] == "160000":
            yield "submodule", name
        elif keys(entry) > keys(base.get(path)):
            yield "secret", name
        if entry[0].startswith("100") and b"\0" in entry[1] and not path.startswith(b"src/"):
            yield "binary", name


def changed(base: Files, work: Files) -> list[bytes]:
    return [path for path in {*base, *work} if usual(base.get(path)) != usual(work.get(path))]


@examples(20)
@given(base=FILES.map(whole), work=FILES.map(whole))
async def test_what_was_put_in_is_found(home: Home, base: Files, work: Files):
    judged = await checked(home, base, work)
    assert set(map(shown, changed(base, work))) <= {each.path for each in judged.changes}
    found = {(each.rule.value, each.path) for each in judged.violations}
    assert set(put_in(base, work)) <= found
    for each in judged.violations:
        assert each.model_dump_json()
        if each.rule is DiffRule.SECRET:
            (content,) = (one[1] for path, one in work.items() if shown(path) == each.path)
            assert KEY in content.split(b"\n")[(each.line or 0) - 1].replace(b"\0", b"")


@examples(10)
@given(base=FILES.map(whole), work=FILES.map(whole))
async def test_a_new_name_that_folds_to_another_is_found(home: Home, base: Files, work: Files):
    judged = await checked(home, base, work)
    names = {path: path.decode().casefold() for path in work if b"\xff" not in path}
    for path in names.keys() - base.keys():
        if sum(name == names[path] for name in names.values()) > 1:
            collisions = [
                each.path for each in judged.violations if each.rule is DiffRule.COLLISION
            ]
            assert shown(path) in collisions


CLEAN = st.dictionaries(
    st.sampled_from([b"src/a", b"src/b.py", b"src/d/x y", b"src/\xc3\xa9"]),
    st.tuples(
        st.sampled_from(["100644", "100755"]),
        st.lists(LINES.filter(lambda line: KEY not in line and b"\0" not in line)).map(b"\n".join),
    ),
)


@examples(10)
@given(base=CLEAN, work=CLEAN)
async def test_honest_work_is_not_held_up(home: Home, base: Files, work: Files):
    judged = await checked(home, base, work)
    assert judged.violations == ()
    assert {each.path for each in judged.changes} == {
        shown(path) for path in {*base, *work} if base.get(path) != work.get(path)
    }
