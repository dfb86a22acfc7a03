"""Checks the links of a commit's tree, because two harmless links can lead outside together."""

from collections.abc import Mapping

from activities.adapters.git.bare_repository import Bare
from activities.adapters.git.worktrees.collected_names import fault_of_link, shown
from workflows.domain.ids import Commit


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
    listed = await bare.git.run(bare.scope(), "ls-tree", "-r", "-z", commit)
    heads = [record.partition(b"\t") for record in listed.records()]
    links = [(path, head.split(b" ")[2]) for head, _, path in heads if head[:6] == b"120000"]
    if not links:
        return {}
    asked = b"".join(blob + b"\n" for _, blob in links)
    rest = (await bare.git.run(bare.scope(), "cat-file", "--batch", stdin=asked)).stdout
    targets: dict[bytes, bytes] = {}
    for path, _ in links:
        head, _, rest = rest.partition(b"\n")
        size = int(head.split(b" ")[2])
        targets[path], rest = rest[:size], rest[size + 1 :]
    return targets
