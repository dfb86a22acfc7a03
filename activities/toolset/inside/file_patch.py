"""Applies a patch to several files: all of it, or nothing.

A part of the program that the file tools send into the sandbox (see `file_tools`): the standard
library only. It gets the patch parsed (see `activities.toolset.patch_format`); `file_hunks` fits
the hunks. Modes are kept; deleting a link removes the link, never its target; a failed patch is
undone.
"""

import os
import stat

from activities.toolset.inside.file_access import (
    RefusedError,
    entry,
    load,
    require_text,
    store,
    target,
)
from activities.toolset.inside.file_hunks import fitted

TYPE_CHECKING = False  # `typing` would cost as much as all the rest
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypedDict

    from activities.toolset.inside.file_hunks import Hunk

    class Change(TypedDict):
        """What a patch does to one file."""

        kind: str
        """`add`, `delete` or `update`."""
        path: str
        move_to: str | None
        content: str
        """The content of an added file."""
        hunks: list[Hunk]


class Step:
    """The change of one path: its bytes before and after (None: absent), and its mode."""

    def __init__(self, path: str, before: bytes | None, after: bytes | None) -> None:
        self.path = path
        self.before = before
        self.after = after
        self.mode: int | None = None
        self.link = ""

    def carry_out(self) -> None:
        """Put the new state in place."""
        self._put(self.after)

    def take_back(self) -> None:
        """Put the old state in place."""
        self._put(self.before)

    def _put(self, content: bytes | None) -> None:
        if content is None:
            if os.path.lexists(self.path):
                os.unlink(self.path)
        elif self.link:
            os.symlink(self.link, self.path)
        else:
            os.makedirs(os.path.dirname(self.path), exist_ok=True)
            store(self.path, content)
            if self.mode is not None:
                os.chmod(self.path, self.mode)


def patch(root: str, changes: "Sequence[Change]", judged: "Sequence[str]") -> str:
    """Apply every change, or none, and say what was done."""
    steps: list[Step] = []
    done = [_plan(root, change, judged, steps) for change in changes]
    paths = [step.path for step in steps]
    for path in paths:
        if paths.count(path) > 1:
            name = os.path.relpath(path, os.path.realpath(root))
            raise RefusedError(
                f"{name!r} is named twice in this patch. Put all that happens to it under one "
                "header. Nothing was changed."
            )
    _carry_out(steps)
    return "\n".join(done)


def _carry_out(steps: "Sequence[Step]") -> None:
    begun: list[Step] = []
    try:
        for step in steps:
            begun.append(step)
            step.carry_out()
    except OSError as error:
        for step in reversed(begun):
            try:
                step.take_back()
            except OSError as other:
                raise RefusedError(
                    f"{step.path!r} could neither be written ({error.strerror}) nor put back "
                    f"({other.strerror}). Look at `git status`."
                ) from None
        name = os.path.basename(begun[-1].path)
        raise RefusedError(f"{name!r}: {error.strerror}. Nothing was changed.") from None


def _plan(root: str, change: "Change", judged: "Sequence[str]", steps: list[Step]) -> str:
    """Add the steps of one change, and return the line that reports it."""
    kind, path = change["kind"], change["path"]
    if kind == "add":
        steps.append(_adding(target(root, path, judged), path, change["content"].encode()))
        return f"Added {path}."
    if kind == "delete":
        steps.append(_deleting(entry(root, path, judged)))
        return f"Deleted {path}."
    return _plan_update(root, change, judged, steps)


def _adding(real: str, path: str, content: bytes) -> Step:
    if os.path.lexists(real):
        raise RefusedError(
            f"{path!r} exists already; change it with *** Update File. Nothing was changed."
        )
    folder = os.path.dirname(real)
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    if not os.path.isdir(folder):
        raise RefusedError(
            f"{path!r}: a part of its path is a file, not a folder. Nothing was changed."
        )
    return Step(real, None, content)


def _deleting(real: str) -> Step:
    if os.path.islink(real):
        step = Step(real, b"", None)
        step.link = os.readlink(real)
        return step
    step = Step(real, load(real), None)
    step.mode = stat.S_IMODE(os.stat(real).st_mode)
    return step


def _plan_update(root: str, change: "Change", judged: "Sequence[str]", steps: list[Step]) -> str:
    path, goal = change["path"], change["move_to"]
    real = target(root, path, judged)
    before = load(real)
    require_text(path, before)
    after, loose = fitted(path, before, change["hunks"])
    if goal is None:
        if after == before:
            raise RefusedError(f"The patch changes nothing in {path!r}. Nothing was changed.")
        steps.append(Step(real, before, after))
    else:
        if entry(root, path, judged) != real:
            raise RefusedError(f"{path!r} is a link; move it with bash. Nothing was changed.")
        there = _adding(target(root, goal, judged), goal, after)
        there.mode = stat.S_IMODE(os.stat(real).st_mode)
        steps += [_deleting(real), there]
    how = f" (in hunk {', '.join(map(str, loose))} only white space differed)" if loose else ""
    return f"Updated {path}{f', now {goal}' if goal else ''}{how}."
