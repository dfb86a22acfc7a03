"""How much disk a session will take on a host; pure."""

from activities.ports.user_repository import RepositoryFacts

BLOCK_BYTES = 4096
HEADROOM_BYTES = 256 << 20
"""For checkpoints, indexes, output."""


def estimate(facts: RepositoryFacts, worktrees: int) -> int:
    """Return the bytes to ask for before the start.

    Objects count twice (bundle and pack), each file of each worktree with half a block lost.

    Args:
        facts: of the preflight.
        worktrees: how many there will be at once, gate checkouts included.
    """
    tree = facts.tree_bytes + facts.file_count * BLOCK_BYTES // 2
    return 2 * facts.object_bytes + worktrees * tree + HEADROOM_BYTES
