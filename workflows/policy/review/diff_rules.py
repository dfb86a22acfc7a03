"""Judges a task's collected diff: facts in, violations and notices out.

This is the third layer: work that passed the judged tool call and the sandbox must not reach a
commit if it breaks a rule. What a tree cannot hold (a nested repository, a pipe, a link that leads
outside) is detected during collection and passed in as `found`. Reads no files; looks for secrets
in the added lines that it is given.
"""

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Final, Literal, NamedTuple
from unicodedata import normalize

from workflows.domain.violation import DiffLimits, DiffRule, Violation
from workflows.policy.gates.loaded_files import import_folders, is_allowed, why_loaded
from workflows.policy.plan.claims import is_claimed
from workflows.policy.review.file_names import name_faults
from workflows.policy.text.secret_patterns import first_of_each

_TOLD: Final = 30
_SUBMODULE: Final = "160000"
_LINK: Final = "120000"


class ChangedFile(NamedTuple):
    """One path that differs from the task's base."""

    path: str
    status: Literal["added", "modified", "deleted"]
    old_mode: str | None
    mode: str | None
    size: int
    is_binary: bool


class AddedLines(NamedTuple):
    """Consecutive lines of the new file that the old one lacks."""

    path: str
    start: int
    """The number of the first line."""
    text: bytes


class Judged(NamedTuple):
    """The result of a judgement."""

    violations: tuple[Violation, ...]
    notices: tuple[str, ...]
    """Allowed, but to be shown to a person: changes of a file's mode."""


def judge_files(
    changes: Sequence[ChangedFile],
    paths: Sequence[str],
    claims: Sequence[str],
    denies: Callable[[str], str | None],
    limits: DiffLimits,
) -> Judged:
    """Judge a diff by its paths, modes and sizes.

    | what                                         | rule         | allowed                      |
    |----------------------------------------------|--------------|------------------------------|
    | a path that may not be written               | `write`      | no                           |
    | a new name that other systems read as another| `name`       | see `file_names`             |
    | another name for a path that is there        | `collision`  | where the base had both      |
    | new, and loaded by a gate's tool at its start| `loaded`     | where a claim names it; see  |
    |                                              |              | `policy.gates.loaded_files`  |
    | a submodule that is new or points elsewhere  | `submodule`  | no                           |
    | a binary file, new or changed                | `binary`     | where a claim other than `**`|
    |                                              |              | covers it                    |
    | a content, all contents, or their number     | `…-size`,    | up to the limit              |
    | above the limit                              | `file-count` |                              |
    | a changed mode                               |              | yes, and shown               |

    Args:
        changes: against the task's base.
        paths: of every file of the result.
        claims: the task's.
        denies: says in words why a path may not be written.
        limits: for one task.
    """
    added = [each.path for each in changes if each.status == "added"]
    found = [
        *_denied(changes, denies),
        *name_faults(added, paths),
        *collisions(added, paths),
        *_loaded(changes, paths, claims),
        *_submodules(changes),
        *_binaries(changes, claims),
        *_sizes(changes, limits),
    ]
    return Judged(tuple(found), tuple(_modes(changes)))


def judge_lines(added: Iterable[AddedLines], allowed: Sequence[str]) -> tuple[Violation, ...]:
    """Look for keys in added lines.

    Args:
        added: those of the whole diff.
        allowed: paths or globs that the person marked (`worktree.allow_secret`).
    """
    return tuple(
        Violation(
            rule=DiffRule.SECRET,
            path=lines.path,
            line=lines.start + line - 1,
            text=f"this line looks like {kind}; take it out, and read it from the environment. "
            "Only a person may allow the path, with `worktree.allow_secret`",
        )
        for lines in added
        for line, kind in first_of_each(lines.text)
        if not is_claimed(lines.path, allowed)
    )


def judge_filtered(
    filtered: Iterable[tuple[str, str]], known: AbstractSet[str]
) -> tuple[Violation, ...]:
    """Refuse files that belong to a filter: no filter is run, so they are stored as plain text.

    | the filter of an added or changed file                      | allowed                      |
    |-------------------------------------------------------------|------------------------------|
    | in the task's base, whether or not the work removes it      | no                           |
    | only in the work                                            | no                           |
    | in neither, though the file was moved from a path with one  | yes: it is as git stored it, |
    |                                                             | and otherwise plain content  |
    | removed by work that was merged before, so not in the base  | yes: that is decided         |

    Args:
        filtered: path and filter of each such file.
        known: paths that have a finding already.
    """
    return tuple(
        Violation(
            rule=DiffRule.FILTER,
            path=path,
            text=f"its pattern belongs to filter {name!r}, and no filter is run here; leave it as "
            "it was. A change of `.gitattributes` that removes the filter counts only after it is "
            "merged",
        )
        for path, name in filtered
        if path not in known
    )


def told(violations: Sequence[Violation]) -> tuple[str, ...]:
    """Write violations as lines for the next attempt and for the person, and count the rest."""
    lines = [_line(each) for each in violations[:_TOLD]]
    if len(violations) > _TOLD:
        lines.append(f"and {len(violations) - _TOLD} more findings")
    return tuple(lines)


def _line(violation: Violation) -> str:
    place = violation.path or ""
    if violation.line is not None:
        place = f"{place}:{violation.line}"
    return f"{place}: {violation.text}" if place else violation.text


def _denied(
    changes: Iterable[ChangedFile], denies: Callable[[str], str | None]
) -> Iterable[Violation]:
    for each in changes:
        if rule := denies(each.path):
            yield Violation(rule=DiffRule.WRITE, path=each.path, text=rule)


def _loaded(
    changes: Iterable[ChangedFile], paths: Sequence[str], claims: Sequence[str]
) -> Iterable[Violation]:
    added = [each for each in changes if each.status == "added"]
    folders = import_folders(paths) if added else frozenset[str]()
    for each in added:
        why = why_loaded(each.path, folders, is_binary=each.is_binary)
        if each.mode == _LINK:  # perhaps to a folder
            why = why or why_loaded(f"{each.path}/__init__.py", folders)
        if why is not None and not is_allowed(each.path, claims):
            text = (
                f"{why}, so this file could change what a gate says: only a task whose claims "
                "name it may add it; give it another name or leave it out"
            )
            yield Violation(rule=DiffRule.LOADED, path=each.path, text=text)


def collisions(added: Sequence[str], paths: Sequence[str]) -> Iterable[Violation]:
    """Find new names that some file systems cannot tell from others: by case or Unicode form.

    Args:
        added: paths that are new.
        paths: of every file, including the new ones.
    """
    wanted = {_folded(part) for path in added for part in _prefixes(path)}
    spelled: dict[str, set[str]] = {}
    for path in paths:
        for part in _prefixes(path):
            if (key := _folded(part)) in wanted:
                spelled.setdefault(key, set()).add(part)
    for path in added:
        for part in _prefixes(path):
            others = sorted(spelled.get(_folded(part), set()) - {part})
            if others:
                one, other = _told_apart(part, others[0])
                text = (
                    f"{one} and {other} are one name on file systems that ignore case or "
                    "Unicode forms; choose another name"
                )
                yield Violation(rule=DiffRule.COLLISION, path=path, text=text)
                break


def _told_apart(one: str, other: str) -> tuple[str, str]:
    """Quote two names; in two Unicode forms of one name, with the characters written out."""
    if normalize("NFC", one) == normalize("NFC", other):
        return ascii(one), ascii(other)
    return repr(one), repr(other)


def _prefixes(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[: length + 1]) for length in range(len(parts))]


def _folded(path: str) -> str:
    # Folding may undo a normal form, and vice versa (Unicode, 3.13, D145).
    return normalize("NFC", normalize("NFD", path).casefold())


def _submodules(changes: Iterable[ChangedFile]) -> Iterable[Violation]:
    for each in changes:
        if each.mode == _SUBMODULE:
            text = "a submodule can be neither added nor moved by an agent; leave it out"
            yield Violation(rule=DiffRule.SUBMODULE, path=each.path, text=text)


def _binaries(changes: Iterable[ChangedFile], claims: Sequence[str]) -> Iterable[Violation]:
    named = [claim for claim in claims if claim.strip("*/")]
    for each in changes:
        if each.is_binary and each.status != "deleted" and not is_claimed(each.path, named):
            text = "a binary file cannot be reviewed: only a task whose claims name it may write it"
            yield Violation(rule=DiffRule.BINARY, path=each.path, text=text)


def _sizes(changes: Sequence[ChangedFile], limits: DiffLimits) -> Iterable[Violation]:
    if len(changes) > limits.changed_files:
        text = (
            f"{len(changes)} files differ, the limit is {limits.changed_files} "
            "(`limits.changed_files`); leave build output out"
        )
        yield Violation(rule=DiffRule.FILE_COUNT, text=text)
    for each in changes:
        if each.size > limits.file_bytes:
            text = (
                f"{each.size} bytes are over the limit of {limits.file_bytes} for one file "
                "(`limits.file_bytes`)"
            )
            yield Violation(rule=DiffRule.FILE_SIZE, path=each.path, text=text)
    total = sum(each.size for each in changes)
    if total > limits.changed_bytes:
        text = (
            f"{total} bytes were written, the limit is {limits.changed_bytes} "
            "(`limits.changed_bytes`); leave build output out"
        )
        yield Violation(rule=DiffRule.DIFF_SIZE, text=text)


def _modes(changes: Iterable[ChangedFile]) -> Iterable[str]:
    for each in changes:
        if each.status == "modified" and each.old_mode != each.mode:
            yield f"{each.path}: mode {each.old_mode} is now {each.mode}"
        elif each.status == "added" and each.mode == "100755":
            yield f"{each.path}: new, and executable"
