"""Which paths an agent may write and read: its claims, without what no agent may ever change.

The protected set keeps agents from weakening their judges: git's own data, the project's Blue Flame
configuration, the definitions of CI, and what the person names. Lock files, files that a gate
starts or obeys (`Makefile`, `package.json`, its test runner's configuration), and files that an
editor or another tool runs by itself may be written only if a claim of the approved plan names more
than "everything". `protected_names` holds the tables. The tests themselves are not
protected, because ordinary tasks change them: claims, reviewers and the person guard them, and
`policy.gates.weakened_tests` reports them.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from workflows.domain.agent.tool_policy import Denied, ToolPolicy
from workflows.domain.gate import GateSpec
from workflows.policy.commands.protected_names import (
    LOCK_FILES,
    PROTECTED,
    is_named,
    runner_of,
)
from workflows.policy.plan.claims import is_claimed
from workflows.policy.text.lenient_names import as_read_elsewhere

_SHELLS: Final = frozenset({"bash", "sh", "dash", "zsh"})
_WORD: Final = re.compile(r"[\w.-]+")
_NO_RULES: Final = ToolPolicy()
_LISTED: Final = 8
_GITLEAKS_OPTIONS: Final = frozenset(
    {"-c", "--config", "-i", "--gitleaks-ignore-path", "-b", "--baseline-path"}
)
_PYTHON_TESTS: Final = (
    "pytest.ini",
    ".pytest.ini",
    "pytest.toml",
    ".pytest.toml",
    "pyproject.toml",
    "setup.cfg",
    "tox.ini",
    "conftest.py",
    ".coveragerc",
)
_NODE_TESTS: Final = (
    "package.json",
    ".npmrc",
    "jest.config.*",
    "vitest.config.*",
    "vitest.workspace.*",
    "vite.config.*",
    ".mocharc.*",
)
_OBEYED: Final = {
    "pytest": _PYTHON_TESTS,
    "py.test": _PYTHON_TESTS,
    "tox": _PYTHON_TESTS,
    "nox": ("noxfile.py", *_PYTHON_TESTS),
    "make": ("GNUmakefile", "makefile", "Makefile"),
    "just": ("justfile", ".justfile", "Justfile"),
    "task": ("Taskfile.yml", "Taskfile.yaml"),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun", "npx", "node", "jest", "vitest"), _NODE_TESTS),
    "ruff": ("ruff.toml", ".ruff.toml", "pyproject.toml"),
    "gitleaks": (".gitleaks.toml", ".gitleaksignore"),
}
"""By a gate's program: the files at the root that say what it runs or ignores."""
_STARTERS: Final = frozenset({"bash", "sh", "python", "python3", "node", "ruby", "perl", "make"})


def denies(
    path: str,
    claims: Sequence[str],
    rules: ToolPolicy = _NO_RULES,
    starts: Sequence[str] = (),
) -> str | None:
    """Return in words why a path may not be written; None if it may. See `write_denial`."""
    denied = write_denial(path, claims, rules, starts)
    return denied.about if denied else None


def write_denial(
    path: str, claims: Sequence[str], rules: ToolPolicy, starts: Sequence[str]
) -> Denied | None:
    """Return the rule that denies a write; None if it is allowed.

    | the path                                   | rule          | allowed                       |
    |--------------------------------------------|---------------|-------------------------------|
    | `.git`, or below one; in the protected set | `protected`   | never                         |
    | blocked                                    | `blocked`     | never                         |
    | outside the claims                         | `claims`      | no                            |
    | outside `write_paths`                      | `write-paths` | no                            |
    | a lock file, one that a gate starts or     | `named-only`  | where a claim other than `**` |
    | obeys, or that an editor or another tool   |               | covers it                     |
    | runs by itself                             |               |                               |
    | any other                                  |               | yes                           |

    Args:
        path: relative to the worktree, with `/`, links resolved.
        claims: the task's; none for a role that only reads.
        rules: the session's.
        starts: the result of `gate_files`.
    """
    if is_protected(path, rules):
        about = f"{path!r} is protected: agents never change it; leave it as it is"
        return Denied(rule="protected", about=about, instead=_claimed(claims))
    if is_claimed(path, rules.blocked_paths):
        return _blocked(path)
    if not is_claimed(path, claims):
        about = f"{path!r} is outside this task's claims ({', '.join(claims)})"
        return Denied(rule="claims", about=about, instead=_claimed(claims))
    if not is_claimed(path, rules.write_paths):
        about = f"{path!r} is outside what agents may write here"
        return Denied(rule="write-paths", about=about, instead=_listed(rules.write_paths))
    return _named_only(path, claims, starts)


def read_denial(path: str, rules: ToolPolicy) -> Denied | None:
    """Return the rule that denies a read; None if it is allowed.

    Args:
        path: relative to the worktree, with `/`; links need not be resolved.
        rules: the session's.
    """
    if is_claimed(path, rules.blocked_paths):
        return _blocked(path)
    if path != "." and not is_claimed(path, rules.read_paths):
        about = f"{path!r} is outside what agents may read here"
        return Denied(rule="read-paths", about=about, instead=_listed(rules.read_paths))
    return None


def is_protected(path: str, rules: ToolPolicy) -> bool:
    """Tell whether no agent may ever write a path."""
    return is_in_git(path) or is_named(path, PROTECTED) or is_named(path, rules.protected_paths)


def is_in_git(path: str) -> bool:
    """Tell whether a path is git's data, in any repository."""
    return any(part in {".git", "git~1"} for part in as_read_elsewhere(path).split("/"))


def gate_files(gates: Sequence[GateSpec]) -> tuple[str, ...]:
    """Return the files of the repository that gates start, and those that say what they run.

    With these an agent could keep work from being judged, or excuse its own failure.

    Args:
        gates: the session's.

    Returns:
        Paths and globs from the repository's root, each once, in order.
    """
    started = (_gate_file(gate.argv) for gate in gates)
    obeyed = (path for gate in gates for path in _obeyed(gate.argv))
    found = (*started, *obeyed, *(path for gate in gates for path in _excuses(gate.argv)))
    return tuple(dict.fromkeys(path for path in found if path is not None))


def _blocked(path: str) -> Denied:
    about = f"{path!r} is blocked: agents neither read nor write it"
    return Denied(rule="blocked", about=about, instead="working without it")


def _named_only(path: str, claims: Sequence[str], starts: Sequence[str]) -> Denied | None:
    named = [claim for claim in claims if claim.strip("*/")]  # not the whole repository
    if is_claimed(path, named):
        return None
    kind = _kind(path, starts)
    if kind is None:
        return None
    about = f"{path!r} is {kind}: only a task whose claims name it may change it"
    return Denied(rule="named-only", about=about, instead=_claimed(claims))


def _kind(path: str, starts: Sequence[str]) -> str | None:
    if is_named(path, LOCK_FILES):
        return "a lock file"
    if path in starts or is_named(path, starts):
        return "a file that a gate starts or obeys"
    runner = runner_of(path)
    return f"a file that {runner} obeys by itself" if runner else None


def _gate_file(argv: Sequence[str]) -> str | None:
    words = list(argv)
    if words and words[0] in _STARTERS:
        words = [word for word in words[1:] if not word.startswith("-")]
        if not words or ("/" not in words[0] and "." not in words[0]):
            return None
    elif not words or "/" not in words[0]:
        return None
    return _inside(words[0])


def _obeyed(argv: Sequence[str]) -> Iterator[str]:
    """List what the programs of a command read at the repository's root; a script may name them."""
    script = " ".join(argv) if argv[0].rsplit("/", 1)[-1] in _SHELLS else ""
    words = _WORD.findall(script) if script else [word.rsplit("/", 1)[-1] for word in argv]
    for word in words:
        yield from _OBEYED.get(word, ())


def _excuses(argv: Sequence[str]) -> Iterator[str | None]:
    """List what excuses findings for gitleaks: its configuration, its list of ignored findings."""
    if argv[0].rsplit("/", 1)[-1] != "gitleaks":
        return
    for option, word in pairwise((*argv, "")):
        name, sign, value = option.partition("=")
        if name in _GITLEAKS_OPTIONS:
            yield _inside(value if sign else word)


def _inside(word: str) -> str | None:
    """Return a word as a path of the repository; None if it cannot be one."""
    path = word.removeprefix("./")
    return None if path.startswith("/") or ".." in path.split("/") or " " in path else path


def _claimed(claims: Sequence[str]) -> str:
    if not claims:
        return "reading, and scratch files below /tmp: this role writes nothing here"
    return f"what the task claims: {_listed(claims)}; scratch files below /tmp"


def _listed(patterns: Sequence[str]) -> str:
    shown = ", ".join(patterns[:_LISTED])
    more = len(patterns) - _LISTED
    return f"{shown} and {more} more" if more > 0 else shown or "nothing"
