"""What differs between two commits, and what a commit holds. Runs nothing that content names."""

from dataclasses import replace

from activities.adapters.git.bare_repository import Bare
from workflows.domain.ids import Commit, Tree

DIFF_BYTES = 256 << 20
SAFE = ("--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=none")


async def diff(bare: Bare, base: Commit, commit: Commit) -> bytes:
    """Return a patch for reading."""
    scope = replace(bare.scope(), limit_bytes=DIFF_BYTES)
    command = ("-c", "core.quotePath=false", "diff-tree", "-r", "-p", "-M", "--full-index")
    return (await bare.git.run(scope, *command, *SAFE, base, commit)).stdout


async def sizes(bare: Bare, blobs: list[str]) -> list[int]:
    """Return the sizes of blobs; 0 for other objects."""
    asked = "".join(f"{blob}\n" for blob in blobs).encode()
    arguments = ("cat-file", "--batch-check=%(objectsize)")
    answer = await bare.git.run(bare.scope(), *arguments, stdin=asked)
    # A gitlink's commit, or the zeros of a deletion, is missing here and has no size.
    return [int(line) if line.isdigit() else 0 for line in answer.stdout.splitlines()]


async def read_file(bare: Bare, commit: Commit, path: str) -> bytes | None:
    """Return a file's bytes, or a link's target; None if there is neither."""
    if not path or path.startswith("/") or ".." in path.split("/"):
        return None
    listed = await bare.git.run(bare.scope(), "ls-tree", "-z", commit, "--", path)
    for record in listed.records():
        head, _, name = record.partition(b"\t")
        _, kind, blob = head.decode().split(" ")
        if kind == "blob" and name == path.encode():
            return (await bare.git.run(bare.scope(), "cat-file", "blob", blob)).stdout
    return None


async def paths(bare: Bare, commit: Commit) -> tuple[str, ...]:
    """List every file, except names that are not UTF-8."""
    arguments = ("ls-tree", "-r", "-z", "--name-only", commit)
    listed = (await bare.git.run(bare.scope(), *arguments)).records()
    return tuple(
        path.decode() for path in listed if path.decode("utf-8", "ignore").encode() == path
    )


async def entries(bare: Bare, commit: Commit) -> dict[bytes, str]:
    """Return the object of every file by its path."""
    listed = (await bare.git.run(bare.scope(), "ls-tree", "-r", "-z", commit)).records()
    halves = (record.partition(b"\t") for record in listed)
    return {path: head.split(b" ")[2].decode() for head, _, path in halves}


async def tree_of(bare: Bare, commit: Commit) -> Tree:
    """Return the tree of a commit."""
    found = await bare.git.run(bare.scope(), "rev-parse", "--verify", f"{commit}^{{tree}}")
    return Tree(found.stdout.decode().strip())


async def with_tree(bare: Bare, old: Commit, ref: str, tree: Tree) -> Commit | None:
    """Return the commit from `old`, itself excluded, to a ref that has this tree; the latest one.

    Only first parents count: the heads that the ref has held.
    """
    arguments = ("rev-list", "--first-parent", "--format=%H %T", f"{old}..{ref}")
    listed = (await bare.git.run(bare.scope(), *arguments)).stdout.decode()
    pairs = (line.split() for line in listed.splitlines() if not line.startswith("commit "))
    return next((Commit(commit) for commit, found in pairs if found == tree), None)
