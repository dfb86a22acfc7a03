"""How much disk a session may need on its host."""

from typing import Final

from workflows.domain.session.session_config import Concurrency

_SPARE_BYTES: Final = 256 << 20
_BLOCK_BYTES: Final = 4096


def estimate_bytes(files: int, tree_bytes: int, concurrency: Concurrency) -> int:
    """Return a cautious estimate of what worktrees and checkouts take at once.

    Args:
        files: number of files in the base.
        tree_bytes: their size in bytes.
        concurrency: how many worktrees exist at the same time.
    """
    each = tree_bytes + files * _BLOCK_BYTES
    worktrees = concurrency.plan + concurrency.develop + 2 * concurrency.validation + 1
    return each * worktrees + 2 * tree_bytes + _SPARE_BYTES
