"""`worktree.copy`: what of the person's checkout is read, and what is refused with a remedy."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from activities.ports.git_errors import RepositoryRefusedError
from activities.repository import checkout_copies
from activities.repository.checkout_copies import CopiedEntry, read_copies
from tests.unit.activities.adapters.git.home import Home
from workflows.domain.session.session_config import WorktreeConfig


async def copies(home: Home, *entries: str) -> list[CopiedEntry]:
    worktree = WorktreeConfig(copies=entries)
    return [each async for each in read_copies(home.user, home.path, worktree, is_bare=False)]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path)
    made.make({"a.txt": "x\n", ".gitignore": "/data\n", "data/tracked.txt": "t\n"})
    for name in ("data/one.json", "data/deep/two.json", "data/run.sh"):
        place = made.path / name
        place.parent.mkdir(exist_ok=True)
        place.write_text(f"{name}\n")
    (made.path / "data/run.sh").chmod(0o755)
    return made


@pytest.mark.parametrize(
    ("entry", "names"),
    [
        ("data/one.json", ["data/one.json"]),
        ("data", ["data/deep/two.json", "data/one.json", "data/run.sh"]),
        ("data/", ["data/deep/two.json", "data/one.json", "data/run.sh"]),
        ("data/*.json", ["data/one.json"]),
        ("data/**/*.json", ["data/deep/two.json", "data/one.json"]),
        ("**/two.json", ["data/deep/two.json"]),
    ],
)
async def test_g56_an_entry_is_a_file_a_folder_or_a_pattern(
    home: Home, entry: str, names: list[str]
):
    (found,) = await copies(home, entry)
    assert [file.path for file in found.files] == names
    assert {file.path for file in found.files if file.executable} <= {"data/run.sh"}


def by_the_repository(home: Home) -> None:
    (home.path / ".git/info").mkdir(exist_ok=True)
    (home.path / ".git/info/exclude").write_text("/local.cfg\n")


def by_the_default_place(home: Home) -> None:
    (home.top / ".config/git").mkdir(parents=True)
    (home.top / ".config/git/ignore").write_text("local.cfg\n")


def by_a_named_file(home: Home) -> None:
    (home.top / ".gitconfig").write_text("[core]\n\texcludesFile = ~/mine\n")
    (home.top / "mine").write_text("*.cfg\n")


def by_the_repositorys_setting(home: Home) -> None:
    (home.top / "mine").write_text("*.cfg\n")
    home.run("config", "core.excludesFile", str(home.top / "mine"))


@pytest.mark.parametrize(
    "ignore",
    [by_the_repository, by_the_default_place, by_a_named_file, by_the_repositorys_setting],
)
async def test_g56_the_excludes_that_git_itself_uses_count(
    home: Home, ignore: Callable[[Home], None]
):
    (home.path / "local.cfg").write_text("x\n")
    with pytest.raises(RepositoryRefusedError, match="git does not ignore it: commit it instead"):
        await copies(home, "local.cfg")
    ignore(home)
    (found,) = await copies(home, "local.cfg")
    assert found.is_one_file
    excludes = (await home.user.excludes(home.path)).decode().splitlines()
    assert {"local.cfg", "/local.cfg", "*.cfg"} & set(excludes)


def a_link_out(home: Home) -> None:
    (home.path / "data/link").symlink_to("../../secret")


def an_absolute_link(home: Home) -> None:
    (home.path / "data/link").symlink_to("/etc/passwd")


def a_repository(home: Home) -> None:
    (home.path / "data/own").mkdir()
    home.run("init", "-q", "data/own")
    (home.path / "data/own/f").write_text("x\n")


def a_secret(home: Home) -> None:
    (home.path / "data/.env").write_text("A=1\n")


def many(home: Home) -> None:
    for number in range(checkout_copies.MAX_FILES):
        (home.path / f"data/{number}").touch()


def large(home: Home) -> None:
    for name in ("data/l1", "data/l2"):
        with (home.path / name).open("wb") as file:
            file.truncate(checkout_copies.MAX_BYTES // 2 + 1)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("make", "said"),
    [
        (a_link_out, r"'data/link' in it cannot be copied: it is a link: it leads out of the repo"),
        (an_absolute_link, r"it is a link: its target is absolute; .*`worktree\.setup`"),
        (a_repository, "it is a repository of its own"),
        (a_secret, r"'data/\.env' is not copied: its name looks secret; list .*allow_secret"),
        (many, r"over 2000 files: name less, or let set-up make them \(`worktree\.setup`\)"),
        (large, r"over 64 MiB: name less, or let set-up make them"),
    ],
)
async def test_a_folder_is_refused_with_the_remedy(
    home: Home, make: Callable[[Home], None], said: str
):
    make(home)
    with pytest.raises(RepositoryRefusedError, match=said):
        await copies(home, "data")


async def test_a_link_that_stays_inside_is_copied_as_a_link(home: Home):
    (home.path / "data/link").symlink_to("deep/two.json")
    (found,) = await copies(home, "data/l*")
    assert [(file.path, file.link) for file in found.files] == [("data/link", "deep/two.json")]


@pytest.mark.parametrize("entry", ["missing/", "none/*", "a.txt"])
async def test_an_entry_that_names_nothing_ignored_is_refused(home: Home, entry: str):
    with pytest.raises(RepositoryRefusedError, match=r"`worktree\.copy` names"):
        await copies(home, entry)


async def test_a_stranger_does_not_choose_a_file_of_this_machine_by_a_link(home: Home):
    (home.top / "private").write_text("private\n")
    (home.path / ".git/info").mkdir(exist_ok=True)
    exclude = home.path / ".git/info/exclude"
    exclude.unlink(missing_ok=True)
    os.symlink(home.top / "private", exclude)
    assert b"private" not in await home.user.excludes(home.path)
