"""The disk estimate grows with what it is made of."""

from pathlib import Path

from activities.adapters.git.estimate import HEADROOM_BYTES, estimate
from activities.ports.user_repository import RepositoryFacts
from workflows.domain.ids import Commit, Tree

FACTS = RepositoryFacts(
    root=Path("/r"),
    key="k" * 32,
    is_bare=False,
    base=Commit("1" * 40),
    base_branch="main",
    tree=Tree("2" * 40),
    file_count=10,
    tree_bytes=1_000_000,
    object_bytes=5_000_000,
    owner_uid=0,
    owner="root",
    is_writable=True,
    is_shallow=False,
    is_dirty=False,
    free_bytes=1,
)


def test_counts_objects_twice_and_each_worktree_once():
    assert estimate(FACTS, 0) == 10_000_000 + HEADROOM_BYTES
    assert estimate(FACTS, 3) == estimate(FACTS, 0) + 3 * (1_000_000 + 10 * 2048)
