"""Collection: what reaches the tree, what is found instead, and that nothing of it is run."""

import os
import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.ports.git_errors import WorktreeDamagedError, WorktreeNotHeldError
from activities.ports.host_repository import Change
from tests.effort import examples
from tests.unit.activities.adapters.git.home import BRANCH, Home, names, plain_git, write

pytestmark = pytest.mark.fuzz


async def test_an_unchanged_worktree_gives_the_same_tree(home: Home):
    home.make({"a.txt": "one\n", "d/b.txt": "two\n"})
    place = await home.start()
    (place / "a.txt").touch()
    (place / "empty").mkdir()
    collected = await home.collect()
    assert collected.tree == home.run("rev-parse", "HEAD^{tree}")
    assert (collected.changes, collected.findings) == ((), ())


async def test_the_tree_is_the_same_where_changes_are_not_asked_for(home: Home):
    home.make({"a.txt": "one\n"})
    (await home.start() / "a.txt").write_text("two\n")
    async with home.host.lock("t1"):
        collected = await home.host.collect("t1", lists_changes=False)
    assert collected.changes == ()
    assert collected.tree == (await home.collect()).tree != home.run("rev-parse", "HEAD^{tree}")


async def test_tells_each_change_once(home: Home):
    home.make({"keep": "k", "edit": "one\n", "gone": "x", "link": "x"})
    place = await home.start()
    write(place, {"edit": "longer\n", "new/file": "abc"})
    (place / "gone").unlink()
    (place / "link").unlink()
    (place / "link").symlink_to("edit")
    collected = await home.collect()
    assert collected.changes == (
        Change(path="edit", status="modified", mode="100644", size=7),
        Change(path="gone", status="deleted", mode=None, size=0),
        Change(path="link", status="modified", mode="120000", size=4),
        Change(path="new/file", status="added", mode="100644", size=3),
    )
    again = await home.collect()
    assert (again.tree, again.changes) == (collected.tree, ())


async def test_an_edit_of_the_same_size_in_the_same_second_is_seen(home: Home):
    home.make({"a.txt": "0"})
    place = await home.start()
    trees: set[str] = set()
    for turn in range(5):
        (place / "a.txt").write_text(str(turn + 1))
        trees.add((await home.collect()).tree)
    assert len(trees) == 5


async def test_ignored_files_are_absent_and_listed_apart(home: Home):
    home.make({"a.txt": "one\n", ".gitignore": "gen/\n*.log\n"})
    place = await home.start()
    write(place, {"gen/out.py": "x=1\n", "deep/x.log": "l", "deep/kept": "k"})
    collected = await home.collect()
    assert [change.path for change in collected.changes] == ["deep/kept"]
    async with home.host.lock("t1"):
        assert await home.host.ignored("t1") == ("deep/x.log", "gen/")


async def test_modes_are_collected(home: Home):
    """Field report R27."""
    home.make({"old.sh": "x\n", "go.sh": "y\n"})
    (home.path / "old.sh").chmod(0o755)
    home.run("config", "core.fileMode", "false")
    home.run("update-index", "--chmod=+x", "old.sh")
    home.commit({})
    place = await home.start()
    assert (place / "old.sh").stat().st_mode & 0o100
    (place / "old.sh").chmod(0o644)
    (place / "go.sh").chmod(0o755)
    collected = await home.collect()
    assert [(c.path, c.status, c.mode) for c in collected.changes] == [
        ("go.sh", "modified", "100755"),
        ("old.sh", "modified", "100644"),
    ]
    commit = await home.commit_work()
    assert home.tree(commit) == {"go.sh": "100755", "old.sh": "100644"}
    assert b"old mode 100644" in await home.host.diff(home.base, commit)


async def test_files_and_folders_may_change_places(home: Home):
    home.make({"file": "x", "folder/a": "x", "folder/b": "x"})
    place = await home.start()
    (place / "file").unlink()
    write(place, {"file/inner": "y"})
    for name in ("a", "b"):
        (place / "folder" / name).unlink()
    (place / "folder").rmdir()
    (place / "folder").write_text("y")
    commit = await home.commit_work()
    assert home.tree(commit) == {"file/inner": "100644", "folder": "100644"}


async def test_a_folder_replaced_by_a_link_to_its_twin_is_a_link(home: Home):
    home.make({"d/x": "same\n", "e/x": "same\n"})
    place = await home.start()
    (place / "d/x").unlink()
    (place / "d").rmdir()
    (place / "d").symlink_to("e")
    commit = await home.commit_work()
    assert home.tree(commit) == {"d": "120000", "e/x": "100644"}


LINKS = [
    ("inside", "a.txt", None),
    ("d/inside", "../a.txt", None),
    ("dangling", "nothing/there", None),
    ("d/round", "../d/../a.txt", None),
    ("absolute", "/etc/passwd", "absolute"),
    ("d/absolute", "/workspace/a.txt", "absolute"),
    ("up", "../../..", "out of the repository"),
    ("d/up", "../../x", "out of the repository"),
    ("d/dotted", "./.././../x", "out of the repository"),
    ("git", ".git/config", ".git"),
    ("d/git", "../.GIT", ".git"),
    ("loop", "loop", "circle"),
    (".gitmodules", "a.txt", "may not be a link"),
]


async def test_links_stay_inside(home: Home):
    home.make({"a.txt": "one\n", "d/b.txt": "two\n"})
    place = await home.start()
    for name, target, _ in LINKS:
        (place / name).symlink_to(target)
    collected = await home.collect()
    good = {(name, "120000") for name, _, fault in LINKS if fault is None}
    assert {(change.path, change.mode) for change in collected.changes} == good
    assert {finding.kind for finding in collected.findings} == {"symlink"}
    texts = {finding.path: finding.text for finding in collected.findings}
    faults = {name: fault for name, _, fault in LINKS if fault is not None}
    assert texts.keys() == faults.keys()
    assert [name for name, fault in faults.items() if fault not in texts[name]] == []


async def test_a_link_through_a_link_that_leads_out_is_not_collected(home: Home):
    home.make({"a.txt": "one\n"})
    place = await home.start()
    (place / "etc").symlink_to("/etc")
    (place / "through").symlink_to("etc/passwd")
    collected = await home.collect()
    assert {f.path for f in collected.findings} == {"etc", "through"}
    assert collected.changes == ()


async def test_a_foreign_link_that_the_base_holds_stays(home: Home):
    home.make({"a.txt": "one\n"})
    (home.path / "out").symlink_to("/etc/hosts")
    home.commit({})
    place = await home.start()
    write(place, {"b.txt": "x"})
    collected = await home.collect()
    assert (len(collected.changes), collected.findings) == (1, ())
    assert home.tree(await home.commit_work())["out"] == "120000"


SPELLINGS = [".git", ".GIT", "git~1", ".git.", ".git ", ".g\u200cit", ".git::$INDEX_ALLOCATION"]


@pytest.mark.parametrize("is_file", [False, True])
async def test_nested_git_of_any_spelling(home: Home, is_file: bool):
    folders = [f"{kind}{number}" for number in range(len(SPELLINGS)) for kind in ("new", "old")]
    home.make({f"{folder}/b.txt": "two\n" for folder in folders if folder.startswith("old")})
    place = await home.start()
    for folder in folders:
        name = f"{folder}/{SPELLINGS[int(folder[3:])]}"
        write(place, {name if is_file else f"{name}/config": "x", f"{folder}/beside": "x"})
    collected = await home.collect()
    assert [(f.kind, f.path) for f in collected.findings] == [
        ("nested_git", folder) for folder in sorted(folders)
    ]
    assert [c.path for c in collected.changes] == [f"{folder}/beside" for folder in sorted(folders)]


@pytest.mark.parametrize("has_commit", [False, True])
async def test_a_complete_nested_repository_is_not_a_gitlink(home: Home, has_commit: bool):
    home.make({"a.txt": "one\n"})
    place = await home.start()
    inner = place / "inner"
    inner.mkdir()
    plain_git(inner, "init", "-q")
    write(inner, {"x": "x"})
    if has_commit:
        plain_git(inner, "add", "x")
        plain_git(inner, "commit", "-q", "-m", "x")
    collected = await home.collect()
    assert [(f.kind, f.path) for f in collected.findings] == [("nested_git", "inner")]
    assert collected.tree == home.run("rev-parse", "HEAD^{tree}")


async def test_a_tracked_file_replaced_by_a_repository(home: Home):
    home.make({"a.txt": "one\n", "b": "x"})
    place = await home.start()
    (place / "b").unlink()
    (place / "b").mkdir()
    plain_git(place / "b", "init", "-q")
    write(place, {"b/f": "x"})
    plain_git(place / "b", "add", "f")
    plain_git(place / "b", "commit", "-q", "-m", "x")
    collected = await home.collect()
    assert [(c.path, c.status) for c in collected.changes] == [("b", "deleted")]
    assert [(f.kind, f.path) for f in collected.findings] == [("nested_git", "b")]


async def test_a_repository_in_an_ignored_folder_is_ignored(home: Home):
    home.make({"a.txt": "one\n", ".gitignore": "vendor/\n"})
    place = await home.start()
    (place / "vendor").mkdir()
    plain_git(place / "vendor", "init", "-q")
    assert (await home.collect()).findings == ()


async def with_submodule(home: Home) -> Path:
    """A base with an unfilled submodule at `sub`."""
    home.make({"a.txt": "one\n"})
    library = home.top / "lib"
    library.mkdir()
    plain_git(library, "init", "-q")
    write(library, {"f": "x"})
    plain_git(library, "add", "f")
    plain_git(library, "commit", "-q", "-m", "x")
    home.run("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "sub")
    home.run("commit", "-q", "-m", "submodule")
    home.base = type(home.base)(home.run("rev-parse", "HEAD"))
    return await home.start()


async def test_an_unchanged_submodule_survives_until_landing(home: Home):
    """Field report R07."""
    place = await with_submodule(home)
    assert (place / "sub").is_dir()
    write(place, {"a.txt": "changed\n"})
    collected = await home.collect()
    assert collected.findings == ()
    await home.land(await home.commit_work())
    assert home.run("ls-tree", BRANCH, "sub") == home.run("ls-tree", "HEAD", "sub")


@pytest.mark.parametrize("deed", ["fill", "delete", "replace"])
async def test_work_on_a_submodule_is_a_finding_and_keeps_the_link(home: Home, deed: str):
    """Field report R07."""
    place = await with_submodule(home)
    if deed == "fill":
        write(place, {"sub/x.txt": "x"})
    else:
        (place / "sub").rmdir()
    if deed == "replace":
        write(place, {"sub": "a file"})
    collected = await home.collect()
    assert [(f.kind, f.path) for f in collected.findings] == [("submodule", "sub")]
    assert collected.tree == home.run("rev-parse", "HEAD^{tree}")


def bind_socket(folder: Path, name: str) -> None:
    """Leave a socket; by its short name, because a socket's path may not be long."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(name)
    finally:
        os.chdir(before)


async def test_pipes_and_sockets_are_found(home: Home):
    home.make({"a.txt": "one\n", "d/b.txt": "x", "t": "x"})
    place = await home.start()
    os.mkfifo(place / "d/pipe")
    (place / "t").unlink()
    os.mkfifo(place / "t")
    write(place, {"fresh/file": "x"})
    bind_socket(place / "fresh", "s")
    collected = await home.collect()
    assert [(f.kind, f.path) for f in collected.findings] == [
        ("not_regular", "d/pipe"),
        ("not_regular", "fresh/s"),
        ("not_regular", "t"),
    ]
    assert [(c.path, c.status) for c in collected.changes] == [
        ("fresh/file", "added"),
        ("t", "deleted"),
    ]


@pytest.mark.parametrize("name", [".git\\foo", "a\\.GIT\\x", "d/git~1\\x", "a\\.git"])
async def test_a_backslash_does_not_lead_into_dot_git(home: Home, name: str):
    home.make({"a.txt": "one\n"})
    place = await home.start()
    write(place, {name: "x", "x\\y": "fine"})
    collected = await home.collect()
    assert [(f.kind, f.path) for f in collected.findings] == [("name", name)]
    assert [c.path for c in collected.changes] == ["x\\y"]
    assert "x\\\\y" in "".join(home.tree(collected.tree))


@pytest.mark.parametrize(
    "name", ["gitmod~1", "d/GITMOD~4", "gi7eba~1", ".gitmodules ", "a\\gi7e~10"]
)
async def test_no_link_is_taken_for_dot_gitmodules(home: Home, name: str):
    home.make({"a.txt": "one\n", "d/b": "x"})
    place = await home.start()
    (place / name).symlink_to("b")
    collected = await home.collect()
    assert [(f.kind, f.path) for f in collected.findings] == [("symlink", name)]
    assert collected.changes == ()


@pytest.mark.parametrize("name", [b"a\nb", b"a\x1bb", b"caf\xe9", b"a\x7f", "a\u202eb".encode()])
async def test_names_that_no_view_could_show_are_found(home: Home, name: bytes):
    home.make({"a.txt": "one\n"})
    place = await home.start()
    write(place, {os.fsdecode(name): "x"})
    collected = await home.collect()
    assert [f.kind for f in collected.findings] == ["name"]
    assert collected.findings[0].path.isprintable()
    assert collected.changes == ()
    assert collected.model_dump_json()


async def test_a_strange_name_of_the_base_can_be_worked_on(home: Home):
    home.make({"a.txt": "one\n"})
    strange = Path(os.fsdecode(b"caf\xe9"))
    (home.path / strange).write_text("x")
    home.commit({})
    place = await home.start()
    (place / strange).write_text("longer")
    collected = await home.collect()
    assert [(c.path, c.status) for c in collected.changes] == [("caf\\xe9", "modified")]
    assert collected.model_dump_json()


async def test_lfs_pointers_pass_and_new_binaries_do_not(home: Home):
    """Field report R21."""
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"
    home.make({".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n", "a.bin": pointer})
    home.run("config", "filter.lfs.required", "true")
    home.run("config", "filter.lfs.smudge", f"touch {home.top}/PWNED; exit 1")
    place = await home.start()
    assert (place / "a.bin").read_text() == pointer
    write(
        place,
        {
            "b.bin": b"\x00" * 5000,
            "c.bin": pointer,
            "x.py": "x",
            "sub/.gitattributes": "*.bin -filter\n",
        },
    )
    write(place, {"sub/free.bin": b"\x00"})
    collected = await home.collect()
    assert [(f.kind, f.path) for f in collected.findings] == [("lfs", "b.bin")]
    assert [c.path for c in collected.changes] == [
        "c.bin",
        "sub/.gitattributes",
        "sub/free.bin",
        "x.py",
    ]
    write(place, {"a.bin": b"\x00" * 5000})
    collected = await home.collect()
    assert {f.path for f in collected.findings} == {"a.bin", "b.bin"}
    commit = await home.commit_work()
    assert await home.host.read_file(commit, "a.bin") == pointer.encode()
    assert not (home.top / "PWNED").exists()


async def test_a_file_without_read_permission_is_still_collected(home: Home):
    home.make({"a.txt": "one\n", "d/old": "x"})
    place = await home.start()
    write(place, {"shut/file": "x", "closed": "y", "d/new": "z"})
    (place / "d/old").write_text("changed\n")
    for name in ("closed", "shut", "d"):
        (place / name).chmod(0)
    collected = await home.collect()
    assert [c.path for c in collected.changes] == ["closed", "d/new", "d/old", "shut/file"]


async def test_a_folder_too_deep_to_name_does_no_harm(home: Home):
    home.make({"a.txt": "one\n"})
    place = await home.start()
    here = os.open(place, os.O_RDONLY)
    for _ in range(60):
        os.mkdir("x" * 100, dir_fd=here)
        inner = os.open("x" * 100, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(os.open("bottom", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)
    write(place, {"b.txt": "x"})
    collected = await home.collect()
    assert [c.path for c in collected.changes] == ["b.txt"]
    async with home.host.lock("t1"):
        await home.host.restore("t1", home.base)
    assert names(place) == [".git", "a.txt"]


async def test_needs_the_lock_and_its_own_git_file(home: Home):
    home.make({"a.txt": "one\n"})
    place = await home.start()
    with pytest.raises(WorktreeNotHeldError):
        await home.host.collect("t1")
    (place / ".git").unlink()
    (place / ".git").symlink_to("/etc/hostname")
    with pytest.raises(WorktreeDamagedError):
        await home.collect()


async def test_another_process_may_have_collected_in_between(home: Home):
    home.make({"a.txt": "one\n"})
    place = await home.start()
    await home.collect()
    other = Home(home.top)
    write(place, {"deep/new.txt": "x"})
    await other.collect()
    os.mkfifo(place / "deep/pipe")
    collected = await home.collect()
    assert [f.path for f in collected.findings] == ["deep/pipe"]


NAMES = st.sampled_from(["a", "b", "c/a", "c/b", "c/d/a", "e"])
DEEDS = st.tuples(
    st.sampled_from(["write", "chmod", "unlink", "link"]), NAMES, st.sampled_from("xyz")
)


@examples(12)
@given(turns=st.lists(st.lists(DEEDS, max_size=6), min_size=1, max_size=3))
async def test_the_tree_is_what_git_add_would_make(
    tmp_path_factory: pytest.TempPathFactory, turns: list[list[tuple[str, str, str]]]
):
    home = Home(tmp_path_factory.mktemp("tree"))
    home.make({"a": "base", "c/a": "base", "c/d/a": "base"})
    place = await home.start()
    for turn in turns:
        for deed in turn:
            for top in (place, home.path):
                act(top, *deed)
        home.run("add", "-A")
        assert (await home.collect()).tree == home.run("write-tree")


def act(top: Path, deed: str, name: str, text: str) -> None:
    """Do one deed of an agent."""
    target = top / name
    target.parent.mkdir(parents=True, exist_ok=True)
    exists = target.exists() or target.is_symlink()
    if deed == "chmod" and exists and not target.is_symlink():
        target.chmod(0o755)
    elif deed in ("unlink", "link") and exists:
        target.unlink()
    if deed == "link":
        target.symlink_to(text)
    elif deed == "write":
        if target.is_symlink():
            target.unlink()
        target.write_text(text)


async def test_what_stands_at_another_commit_is_restored_and_collected_there(home: Home):
    home.make({"a.txt": "one\n"})
    place = await home.start()
    write(place, {"a.txt": "two\n"})
    async with home.host.lock("t1"):
        collected = await home.host.collect("t1")
        first = await home.host.checkpoint(home.request("t1", collected))
        at_first = await home.host.collect_at("t1", first)
        at_base = await home.host.collect_at("t1", home.base)
        again = await home.host.collect_at("t1", first)
        write(place, {"a.txt": "half"})
        whole = await home.host.collect_at("t1", first)
    assert (at_first.tree, at_first.changes) == (collected.tree, ())
    assert at_base.tree == home.run("rev-parse", "HEAD^{tree}")
    assert again == whole == at_first
    assert (place / "a.txt").read_text() == "two\n"
