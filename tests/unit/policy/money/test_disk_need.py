"""The estimate of what a session needs on its host's disk."""

import pytest

from workflows.domain.session.session_config import Concurrency
from workflows.policy.money.disk_need import estimate_bytes

MEBI = 1 << 20


def test_an_empty_repository_needs_the_spare_only() -> None:
    assert estimate_bytes(0, 0, Concurrency()) == 256 * MEBI


def test_each_worktree_and_checkout_counts_with_whole_blocks() -> None:
    """One planner, four developers, two validations with two checkouts each, one merge."""
    size = 100 * MEBI
    each = size + 1_000 * 4_096
    assert estimate_bytes(1_000, size, Concurrency()) == 10 * each + 2 * size + 256 * MEBI


@pytest.mark.parametrize("more", [{"develop": 5}, {"validate": 3}])
def test_more_at_once_needs_more(more: dict[str, int]) -> None:
    wide = Concurrency.model_validate(more)
    assert estimate_bytes(10, MEBI, wide) > estimate_bytes(10, MEBI, Concurrency())
