"""Which paths a task may write: its claims, less what nobody may change by an agent's hand.

The protected set keeps the judge from being weakened: git's own data, the project's configuration
of Blue Flame and the definitions of CI. Lock files may be written where a claim says more than
"everything". Not protected are the sources of detected gates (`Makefile`, `pyproject.toml`,
`package.json`, the tests themselves): ordinary tasks have to change them, so claims, reviewers and
the person are what guards them.
"""

from collections.abc import Sequence
from typing import Final

from workflows.policy.claims import is_claimed

PROTECTED: Final = (
    ".gitmodules",
    "blueflame.yaml",
    ".github/workflows",
    ".gitlab-ci.yml",
    ".circleci",
    "Jenkinsfile",
)
LOCK_FILES: Final = (
    "**/poetry.lock",
    "**/uv.lock",
    "**/pdm.lock",
    "**/pylock.toml",
    "**/Pipfile.lock",
    "**/requirements*.lock",
    "**/package-lock.json",
    "**/npm-shrinkwrap.json",
    "**/pnpm-lock.yaml",
    "**/yarn.lock",
    "**/bun.lock",
    "**/bun.lockb",
    "**/Cargo.lock",
    "**/go.sum",
    "**/Gemfile.lock",
    "**/composer.lock",
    "**/flake.lock",
)


def denies(path: str, claims: Sequence[str]) -> str | None:
    """Return the rule that denies a write, in words; None where it is allowed.

    | the path                                     | allowed                                    |
    |----------------------------------------------|--------------------------------------------|
    | `.git`, or below one; in the protected set   | never                                      |
    | outside the claims                           | no                                         |
    | a lock file                                  | where a claim other than `**` covers it    |
    | any other                                    | yes                                        |

    Args:
        path: relative to the worktree, with `/`, links resolved.
        claims: the task's.
    """
    if _is_in_git(path) or is_claimed(path, PROTECTED):
        return f"{path!r} is protected: agents never change it; leave it as it is"
    if not is_claimed(path, claims):
        return f"{path!r} is outside this task's claims ({', '.join(claims)})"
    named = [claim for claim in claims if not _is_everything(claim)]
    if is_claimed(path, LOCK_FILES) and not is_claimed(path, named):
        return f"{path!r} is a lock file: only a task whose claims name it may change it"
    return None


def _is_in_git(path: str) -> bool:
    return any(part.casefold() == ".git" for part in path.split("/"))


def _is_everything(claim: str) -> bool:
    return not claim.strip("*/")
