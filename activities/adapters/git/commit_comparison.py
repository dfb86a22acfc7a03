"""What differs between two commits, and what a commit holds. Runs nothing that content names.

It also checks the links of a commit's tree, because two harmless links can lead outside together.
"""

from collections.abc import Mapping
from dataclasses import replace

from activities.adapters.git.bare_repository import Bare
from activities.adapters.git.tree_reading import SAFE, entries, tree_of
from activities.adapters.git.worktrees.collected_names import fault_of_link, shown
from workflows.domain.ids import Commit, Tree

DIFF_BYTES = 256 << 20
_LINK = "120000"


async def diff(bare: Bare, base: Commit, commit: Commit) -> bytes:
    """Return a patch for reading."""
    scope = replace(bare.scope(), limit_bytes=DIFF_BYTES)
    command = ("-c", "core.quotePath=false", "diff-tree", "-r", "-p", "-M", "--full-index")
    return (await bare.git.run(scope, *command, *SAFE, base, commit)).stdout


async def read_file(bare: Bare, commit: Commit, path: str) -> bytes | None:
    """Return a file's bytes, or a link's target; None if there is neither."""
    if not path or path.startswith("/") or ".." in path.split("/"):
        return None
    # Of one path, because the list of a whole large tree takes much longer to read.
    listed = await bare.ask("ls-tree", "-z", await tree_of(bare, commit), "--", path)
    for record in listed.records():
        head, _, name = record.partition(b"\t")
        _, kind, blob = head.decode().split(" ")
        if kind == "blob" and name == path.encode():
            return (await bare.ask("cat-file", "blob", blob)).stdout
    return None


async def paths(bare: Bare, commit: Commit) -> tuple[str, ...]:
    """List every file, except names that are not UTF-8."""
    return tuple(
        path.decode()
        for path in await entries(bare, commit)
        if path.decode("utf-8", "ignore").encode() == path
    )


async def link_faults(bare: Bare, base: Commit, commit: Commit) -> tuple[tuple[str, str], ...]:
    """List the links of `commit` with a forbidden target that were not so in `base`.

    Returns:
        Path and fault of each, by path.
    """
    links = await _links(bare, commit)
    if not links:
        return ()
    before = await _links(bare, base)
    found: list[tuple[str, str]] = []
    for path in sorted(links):
        fault = fault_of_link(path, links.get)
        if fault is not None and (path not in before or not fault_of_link(path, before.get)):
            found.append((shown(path), fault))
    return tuple(found)


async def _links(bare: Bare, commit: Commit) -> Mapping[bytes, bytes]:
    """Return the targets of all symbolic links of a commit."""
    listed = (await entries(bare, commit)).items()
    links = [(path, entry.blob) for path, entry in listed if entry.mode == _LINK]
    if not links:
        return {}
    asked = "".join(f"{blob}\n" for _, blob in links).encode()
    rest = (await bare.ask("cat-file", "--batch", stdin=asked)).stdout
    targets: dict[bytes, bytes] = {}
    for path, _ in links:
        head, _, rest = rest.partition(b"\n")
        size = int(head.split(b" ")[2])
        targets[path], rest = rest[:size], rest[size + 1 :]
    return targets


async def with_tree(bare: Bare, old: Commit, ref: str, tree: Tree) -> Commit | None:
    """Return the commit from `old`, itself excluded, to a ref that has this tree; the latest one.

    Only first parents count: the heads that the ref has held.
    """
    arguments = ("rev-list", "--first-parent", "--format=%H %T", f"{old}..{ref}")
    listed = (await bare.git.run(bare.scope(), *arguments)).stdout.decode()
    pairs = (line.split() for line in listed.splitlines() if not line.startswith("commit "))
    return next((Commit(commit) for commit, found in pairs if found == tree), None)
