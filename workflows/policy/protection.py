"""Which paths a task may write: its claims, less what nobody may change by an agent's hand.

The protected set keeps the judge from being weakened: the project's own configuration and the
definitions of CI. Lock files may be written where the approved plan claims them.
"""

from collections.abc import Sequence
from typing import Final

from workflows.policy.claims import is_claimed

PROTECTED: Final = (
    ".git",
    ".gitmodules",
    "blueflame.yaml",
    ".github/workflows",
    ".gitlab-ci.yml",
    ".circleci",
    "Jenkinsfile",
)


def denies(path: str, claims: Sequence[str]) -> str | None:
    """Return the rule that denies a write, in words; None where it is allowed.

    Args:
        path: relative to the worktree, with `/`, links resolved.
        claims: the task's.
    """
    if is_claimed(path, PROTECTED):
        return f"{path!r} is protected: agents never change it; leave it as it is"
    if not is_claimed(path, claims):
        return f"{path!r} is outside this task's claims ({', '.join(claims)})"
    return None
