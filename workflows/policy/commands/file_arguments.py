"""Which files a command writes or reads, judging by its words, and whether it may.

It knows only programs whose arguments are plainly files. A path depends on the folder that the
command runs in; several folders may be possible, the likeliest first. What cannot be determined is
allowed here, because the collected diff is checked against the same rules in the end.
"""

import posixpath
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Final, Literal, NamedTuple

from workflows.domain.agent.shell_tree import UNKNOWN, Word
from workflows.domain.agent.tool_policy import Denied, Standing, ToolPolicy
from workflows.policy.commands.program_options import base_name, plain_path
from workflows.policy.commands.protected_names import PROTECTED
from workflows.policy.commands.protection import is_protected, read_denial, write_denial
from workflows.policy.plan.claims import is_claimed

ROOT: Final = "/workspace"
"""Where the worktree appears to a command."""
MOST_PLACES: Final = 6
SCRATCH: Final = tuple(
    f"**/{name}"
    for name in (
        "__pycache__", "*.pyc", "*.egg-info", ".pytest_cache", ".mypy_cache", ".ruff_cache",
        ".hypothesis", ".tox", ".nox", ".venv", "venv", "build", "dist", "out", "target",
        "node_modules", ".next", ".turbo", ".cache", ".gradle", "coverage", ".coverage",
        ".coverage.*", "htmlcov", "*.log", "*.tmp", "*.o", "*.class",
    )
)  # fmt: skip
"""What builds and tests leave behind; claims do not restrict a command's writes to these."""

Places = tuple[str, ...]
"""Folders that a command may run in, absolute, the likeliest first; empty: unknown."""


class Touched(NamedTuple):
    """A file that a command names."""

    word: Word
    how: Literal["write", "shield", "read"]
    """`shield`: must not be a protected file; claims do not matter."""


def touched(words: Sequence[Word]) -> Iterator[Touched]:
    """List the files that a program writes or reads, judging by its words.

    Args:
        words: the program first.
    """
    name = base_name(words[0].text)
    files = _files(words[1:], _VALUED.get(name, ""))
    if name in _WRITERS:
        yield from _WRITERS[name](words, files)
    elif name in _READERS:
        yield from (Touched(word, "read") for word in files)


def path_denial(file: Touched, places: Places, standing: Standing) -> Denied | None:
    """Return the rule that denies what a command does to a file.

    Protected and blocked files are denied in every folder that the command may run in; claims are
    checked only for the likeliest folder.
    """
    rules, word = standing.rules, file.word
    if file.how == "read":
        inside = (_inside(path) for path in _paths(word, places))
        return next((d for path in inside if path and (d := read_denial(path, rules))), None)
    for path in _paths(word, places):
        if (inside := _inside(path)) and (shield := _shield(inside, word, rules)) is not None:
            return write_denial(shield, standing.claims, rules, ())
    if (tail := _tail(word)) is not None and is_protected(tail, rules):
        return write_denial(tail, standing.claims, rules, ())
    if file.how == "shield" or not word.is_known:
        return None
    likely = next((_inside(path) for path in _paths(word, places)), None)
    if likely is None or likely == "." or is_claimed(likely, SCRATCH):
        return None
    return write_denial(likely, standing.claims, rules, standing.gate_files)


def blocked_denial(words: Sequence[Word], places: Places, standing: Standing) -> Denied | None:
    """Deny a command that names a blocked path in any of its words."""
    if not standing.rules.blocked_paths:
        return None
    for word in words[1:]:
        for path in _paths(word, places):
            inside = _inside(path)
            if inside and is_claimed(inside, standing.rules.blocked_paths):
                return read_denial(inside, standing.rules)
    return None


def moved(places: Places, word: Word | None) -> Places:
    """Return the folders after `cd word`."""
    if word is None:
        return ("/home/agent",)
    if not word.is_known or word.text in {"-", ""} or word.text.startswith("~"):
        return ("/home/agent",) if word.text == "~" else ()
    return tuple(dict.fromkeys(plain_path(posixpath.join(p, word.text)) for p in places))


def is_in_worktree(places: Places) -> bool:
    """Whether a command certainly runs in the worktree."""
    return bool(places) and all(_inside(place) is not None for place in places)


def _paths(word: Word, places: Places) -> list[str]:
    """Return the absolute paths that a word may name; none if only a part of it is known.

    A known folder before an unknown name stands for the whole path.
    """
    text, cut, _ = word.text.partition(UNKNOWN)
    if cut:
        text = text.rpartition("/")[0]
    if not text or text.startswith("~") or (word.is_many and not word.is_glob and not cut):
        return []
    if text.startswith("/"):
        return [plain_path(text)]
    return [plain_path(posixpath.join(place, text)) for place in places]


def _inside(path: str) -> str | None:
    """Return a path relative to the worktree; None if it is outside."""
    if path == ROOT:
        return "."
    return path.removeprefix(f"{ROOT}/") if path.startswith(f"{ROOT}/") else None


def _tail(word: Word) -> str | None:
    """Return the text after the last unknown part, if a new segment begins there."""
    _, cut, tail = word.text.rpartition(UNKNOWN)
    return plain_path(tail.lstrip("/")) if cut and tail.startswith("/") else None


def _shield(path: str, word: Word, rules: ToolPolicy) -> str | None:
    """Return the protected or blocked path that a write here could reach, even from above.

    A name that is known only when the command runs (`./$f`) says nothing of what is below its
    folder: the sandbox keeps `.git`, and the collected diff is checked.
    """
    if is_protected(path, rules) or is_claimed(path, rules.blocked_paths):
        return path
    if UNKNOWN in word.text:
        return None
    if path == ".":
        return ".git"
    shields = (".git", *PROTECTED, *rules.protected_paths)
    if not word.is_glob:
        return next((each for each in shields if each.startswith(f"{path}/")), None)
    return next((each for each in shields if _meet(path, each)), None)


def _meet(pattern: str, path: str) -> bool:
    """Tell whether a glob may match a path, one of its parents, or something below it.

    A leading dot matches only if the glob has it. What lies below matches only by its name:
    otherwise `*/build` would mean a folder in every file. Bash reads `**` as `*` by default.
    """
    globs, parts = pattern.split("/"), path.split("/")
    if len(globs) > len(parts) and not all(each.strip("*") for each in globs[: len(parts)]):
        return False
    return all(
        fnmatchcase(part.casefold(), glob.casefold())
        and (glob.startswith(".") or not part.startswith("."))
        for glob, part in zip(globs, parts, strict=False)
    )


# --- what programs do with their words -------------------------------------------------------


def _files(words: Sequence[Word], valued: str) -> list[Word]:
    """Return the words that are neither options nor values of options."""
    found: list[Word] = []
    takes, is_over = valued.split(), False
    place = 0
    while place < len(words):
        text = words[place].text
        if is_over or not text.startswith("-") or text == "-":
            found.append(words[place])
        elif text == "--":
            is_over = True
        elif text in takes:
            place += 1
        place += 1
    return found


def _every(how: Literal["write", "shield"]) -> Callable[..., Iterator[Touched]]:
    def name(_words: Sequence[Word], files: list[Word]) -> Iterator[Touched]:
        yield from (Touched(word, how) for word in files)

    return name


def _behind_first(_words: Sequence[Word], files: list[Word]) -> Iterator[Touched]:
    yield from (Touched(word, "write") for word in files[1:])


def _copy(words: Sequence[Word], files: list[Word]) -> Iterator[Touched]:
    """The last word is written, or a file in it; with `-t` the folder comes first."""
    for place, word in enumerate(words):
        if word.text in {"-t", "--target-directory"} and place + 1 < len(words):
            files = [*files, words[place + 1]]
        elif word.text.startswith("--target-directory="):
            target = word.text.partition("=")[2]
            files = [*files, word.with_text(target)]
    if not files[1:]:
        return
    *sources, target = files
    yield from (Touched(source, "read") for source in sources)
    yield Touched(target, "shield" if _may_be_folder(target) else "write")
    for source in sources:
        if source.is_known and target.is_known:
            name = posixpath.basename(source.text.rstrip("/"))
            text = posixpath.join(target.text, name)
            yield Touched(Word(text=text), "write" if _is_folder(target) else "shield")


def _may_be_folder(word: Word) -> bool:
    return _is_folder(word) or "." not in posixpath.basename(word.text)


def _is_folder(word: Word) -> bool:
    return word.text.endswith("/") or word.text in {".", ".."}


def _move(words: Sequence[Word], files: list[Word]) -> Iterator[Touched]:
    yield from _copy(words, files)
    yield from (Touched(source, "write") for source in files[:-1])


def _link(words: Sequence[Word], files: list[Word]) -> Iterator[Touched]:
    """A link to a protected file would be a second name for it."""
    yield from (Touched(word, "shield") for word in files)
    yield from _copy(words, files)


def _in_place(words: Sequence[Word], files: list[Word]) -> Iterator[Touched]:
    """`sed -i` and `perl -i`: the first word is the program unless an option gives one."""
    options = [word.text for word in words[1:] if word.text.startswith("-")]
    if not any(_has_letter(option, "i") or option.startswith("--in-place") for option in options):
        return
    gives = any(_has_letter(option, "e") or option in {"-f", "--expression"} for option in options)
    yield from (Touched(word, "write") for word in (files if gives else files[1:]))


def _has_letter(option: str, letter: str) -> bool:
    return not option.startswith("--") and letter in option[1:4]


def _dd(words: Sequence[Word], _files: list[Word]) -> Iterator[Touched]:
    for word in words:
        if word.text.startswith("of="):
            yield Touched(word.with_text(word.text[3:]), "write")


def _find(words: Sequence[Word], _files: list[Word]) -> Iterator[Touched]:
    """The folders below which `-delete` works; the whole worktree is allowed: filters decide."""
    starts: list[Word] = []
    for word in words[1:]:
        if word.text.startswith(("-", "(", "!")):
            break
        starts.append(word)
    if any(word.text in {"-delete", "-fprint", "-fprintf", "-fls"} for word in words):
        roots = {".", "./", "", ROOT}
        yield from (Touched(word, "shield") for word in starts if word.text not in roots)
    for place, word in enumerate(words[:-1]):
        if word.text in {"-fprint", "-fprintf", "-fls", "-fprint0"}:
            yield Touched(words[place + 1], "write")


def _output(words: Sequence[Word], _files: list[Word]) -> Iterator[Touched]:
    for place, word in enumerate(words[:-1]):
        if word.text in {"-o", "--output"}:
            yield Touched(words[place + 1], "write")


_WRITERS: Final[dict[str, Callable[..., Iterator[Touched]]]] = {
    "chgrp": _behind_first,
    "chmod": _behind_first,
    "chown": _behind_first,
    "cp": _copy,
    "dd": _dd,
    "find": _find,
    "install": _copy,
    "ln": _link,
    "mkdir": _every("shield"),
    "mv": _move,
    "perl": _in_place,
    "rm": _every("write"),
    "rmdir": _every("shield"),
    "rsync": _copy,
    "sed": _in_place,
    "shred": _every("write"),
    "sort": _output,
    "tee": _every("write"),
    "touch": _every("write"),
    "truncate": _every("write"),
    "unlink": _every("write"),
}
_READERS: Final = frozenset({
    "base64", "cat", "head", "less", "md5sum", "more", "nl", "od", "sha256sum", "strings", "tac",
    "tail", "uniq", "wc", "xxd",
})  # fmt: skip
_VALUED: Final = {
    "cp": "-t --target-directory -S --suffix",
    "head": "-n -c --lines --bytes",
    "install": "-m -o -g -t --mode --owner --group --target-directory",
    "ln": "-t -S --target-directory --suffix",
    "mkdir": "-m --mode",
    "mv": "-t -S --target-directory --suffix",
    "perl": "-e -E -I",
    "sed": "-e -f -l --expression --file --line-length",
    "tail": "-n -c --lines --bytes",
    "touch": "-d -t -r --date --reference --time",
    "truncate": "-s -r --size --reference",
}
