"""What commits hold and how they differ, by git's plumbing on stored objects; each is asked once.

Nothing is run that content names. Trees are compared, not commits: a task's checkpoint and its
commit have the same.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from activities.adapters.git import loose_objects
from activities.adapters.git.bare_repository import Bare
from workflows.domain.ids import Commit, Tree

SAFE: Final = ("--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=none")
_NO_MODE: Final = "000000"


class Entry(NamedTuple):
    """A tree's entry at a path."""

    mode: str
    blob: str
    """A file's content, a link's target, or the commit of a submodule."""

    @property
    def is_file(self) -> bool:
        """Whether it is a regular file."""
        return self.mode.startswith("100")

    @property
    def is_submodule(self) -> bool:
        """Whether it is a commit of another repository, which is not here."""
        return self.mode == "160000"


class Difference(NamedTuple):
    """A path at which two trees differ."""

    path: bytes
    status: str
    """Git's letter: A, D, M or T."""
    old_mode: str | None
    new: Entry | None
    """None: it was deleted."""
    is_binary: bool


async def tree_of(bare: Bare, commit: Commit) -> Tree:
    """Return the tree of a commit, without a process where the commit was written here."""
    text = loose_objects.read(bare.layout.bare / "objects", "commit", commit)
    if text is not None:
        return Tree(text.partition(b"\n")[0].removeprefix(b"tree ").decode())
    return Tree((await bare.ask("rev-parse", "--verify", f"{commit}^{{tree}}")).line())


async def entries(bare: Bare, commit: Commit) -> Mapping[bytes, Entry]:
    """Return every file, link and submodule of a commit by its path, in git's order."""
    listed = await bare.ask("ls-tree", "-r", "-z", await tree_of(bare, commit))
    found: dict[bytes, Entry] = {}
    for record in listed.records():
        head, _, path = record.partition(b"\t")
        mode, _, blob = head.decode().split(" ")
        found[path] = Entry(mode, blob)
    return found


async def differences(bare: Bare, base: Commit, commit: Commit) -> tuple[Difference, ...]:
    """List the paths at which two commits differ, in git's order; a rename is two."""
    before, after = await tree_of(bare, base), await tree_of(bare, commit)
    if before == after:
        return ()
    options = ("-r", "-z", "--no-renames", *SAFE)
    records = (await bare.ask("diff-tree", "--raw", "--numstat", *options, before, after)).records()
    # Both forms in one answer. Heads begin with a colon; counts, which follow, never do.
    end = next((n for n in range(0, len(records), 2) if records[n][:1] != b":"), len(records))
    counted = records[end:]
    binary = {each.removeprefix(b"-\t-\t") for each in counted if each.startswith(b"-\t-\t")}
    pairs = zip(records[:end:2], records[1:end:2], strict=True)
    return tuple(_difference(head, path, is_binary=path in binary) for head, path in pairs)


def _difference(head: bytes, path: bytes, *, is_binary: bool) -> Difference:
    old, mode, _, blob, status = head.decode().removeprefix(":").split(" ")
    new = None if mode == _NO_MODE else Entry(mode, blob)
    return Difference(path, status, None if old == _NO_MODE else old, new, is_binary)


async def sizes(bare: Bare, blobs: list[str]) -> list[int]:
    """Return the sizes of blobs; 0 for one that is missing."""
    if not blobs:
        return []
    asked = "".join(f"{blob}\n" for blob in blobs).encode()
    answer = await bare.ask("cat-file", "--batch-check=%(objectsize)", stdin=asked)
    return [int(line) if line.isdigit() else 0 for line in answer.stdout.splitlines()]
