"""What has to be known of a repository that works all the same, one sentence each. Pure."""

from activities.ports.user_repository import RepositoryFacts


def warnings_of(facts: RepositoryFacts) -> tuple[str, ...]:
    """Return what the preflight found that a person may not expect.

    Args:
        facts: as the preflight found them.
    """
    texts: list[str] = []
    if facts.under_way is not None:
        texts.append(
            f"the checkout is in the middle of a {facts.under_way}: work starts from commit "
            f"{facts.base[:12]}, without what is not committed"
        )
    if facts.is_dirty:
        texts.append("the checkout has uncommitted changes: they are not part of the base")
    texts += unfilled(facts)
    if not facts.is_writable:
        texts.append(
            f"the repository belongs to {facts.owner!r} and cannot be written from here: "
            "the result cannot be delivered; start role `land` as that user"
        )
    return tuple(texts)


def unfilled(facts: RepositoryFacts) -> tuple[str, ...]:
    """Return what is not in a worktree as it seems to be; agents have to know it as well.

    Args:
        facts: as the preflight found them.
    """
    texts = [f"submodule {path!r} is empty in worktrees" for path in facts.submodules]
    if facts.lfs_patterns:
        patterns = ", ".join(facts.lfs_patterns)
        texts.append(f"files under LFS ({patterns}) are pointers in worktrees")
    for name in dict.fromkeys(name for _, name in facts.filtered):
        patterns = ", ".join(pattern for pattern, other in facts.filtered if other == name)
        texts.append(
            f"files under the filter {name!r} ({patterns}) are in worktrees as git stores them; "
            "a task that writes one fails, because no filter is run"
        )
    return tuple(texts)


def cut_sentence(commits: int) -> str:
    """Return what agents and the person have to know of a history that was cut.

    Args:
        commits: how many of them worktrees hold.
    """
    return f"the history is cut: worktrees hold its newest {commits:,} commits"
