"""What a command really runs: the programs that other programs start.

`layers` lists each program on the way, outermost first, and each text that a shell would read.
A word in the place of a program's name that is not certainly a name is denied. So is an unknown
option of a wrapper: after it, no one could tell where the program begins.
"""

import re
from collections.abc import Generator, Iterator
from itertools import pairwise
from typing import Final, NamedTuple

from workflows.domain.agent.shell_tree import UNKNOWN, Word
from workflows.domain.agent.tool_policy import Denied
from workflows.policy.commands.nested_scripts import ShellText, shell_texts, text_for
from workflows.policy.commands.program_options import (
    WRAPPERS,
    Words,
    Wrapper,
    base_name,
    cannot_judge,
    shown,
    skip_options,
)


class Program(NamedTuple):
    """One program with its words, to be judged as it is."""

    words: Words
    is_wrapper: bool = False
    """It only starts the next program."""


class Setting(NamedTuple):
    """A variable that a wrapper sets."""

    name: str


Layer = Program | Setting | ShellText | Denied

_RUNNERS: Final = frozenset(
    {
        ("bundle", "exec"),
        ("conda", "run"),
        ("coverage", "run"),
        ("hatch", "run"),
        ("npm", "exec"),
        ("pdm", "run"),
        ("pipenv", "run"),
        ("pnpm", "exec"),
        ("poetry", "run"),
        ("rye", "run"),
        ("uv", "run"),
        ("yarn", "exec"),
        ("asdf", "exec"),
        ("mise", "exec"),
        ("mise", "x"),
        ("pixi", "run"),
        ("tox", "exec"),
    }
)
"""Programs whose subcommand starts a program in their environment."""
_LOADER: Final = re.compile(r"ld(?:-linux[\w-]*|-musl-[\w-]+|64|-[\d.]+)?\.so(?:\.\d+)*")
"""The names of the dynamic loader, which starts any program that it is given."""
_STARTED: Final = re.compile(r"-[A-Zbmoqtv]*([ax])")
"""The letter of `start-stop-daemon` before the program, behind others without a value."""
_RESERVED: Final = frozenset({
    "!", "{", "}", "case", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if",
    "in", "select", "then", "until", "while",
})  # fmt: skip
"""Words of bash's grammar. After `time` and `coproc`, which the parser takes for programs, they
begin commands that it did not parse."""


def layers(words: Words, stdin: Word | None, *, is_piped: bool) -> Iterator[Layer]:
    """List what a command runs, outermost first.

    Args:
        words: the program first.
        stdin: the text of a here-document, if there is one.
        is_piped: its input is another command's output, or cannot be checked.
    """
    program = words[0]
    name, rest = base_name(program.text), words[1:]
    name = "ld.so" if _LOADER.fullmatch(name) else name
    if (denied := _hidden(program)) is not None:
        yield denied
    elif name in WRAPPERS or name == "env":
        yield Program(words, is_wrapper=True)
        inner = yield from _env(rest) if name == "env" else _through(name, rest)
        if inner:
            yield from layers(inner, stdin, is_piped=is_piped or name == "xargs")
    else:
        yield Program(words)
        yield from _started(name, rest, stdin, is_piped=is_piped)


def _started(name: str, rest: Words, stdin: Word | None, *, is_piped: bool) -> Iterator[Layer]:
    """List what a program that is not only a wrapper runs besides itself."""
    if name in _STARTERS:
        yield from _STARTERS[name](rest)
    elif rest and (name, rest[0].text) in _RUNNERS:
        yield from _runner(rest[1:])
    else:
        yield from shell_texts(name, rest, stdin, is_piped=is_piped)


def _hidden(program: Word) -> Denied | None:
    if not program.is_known:
        return cannot_judge(f"{shown([program])} stands where a program's name must stand")
    if program.text in _RESERVED:
        return cannot_judge(f"{program.text!r} stands where a program's name must stand")
    if not program.text:
        return cannot_judge("an empty text stands where a program's name must stand")
    if not program.text.isascii() or not program.text.isprintable():
        letters = ascii(program.text)
        about = f"{letters} holds letters that only look like others, or cannot be seen"
        return Denied(rule="look-alike", about=about, instead="programs named in plain ASCII")
    return None


def _through(name: str, rest: Words) -> Generator[Layer, None, Words]:
    """Return the program that a wrapper starts, with its words."""
    if name == "command" and rest and rest[0].text in {"-v", "-V", "-pv", "-pV"}:
        return ()
    wrapper = WRAPPERS[name]
    start = skip_options(name, rest, wrapper)
    if isinstance(start, Denied):
        yield start
    elif name == "coproc" and any(word.text in _RESERVED for word in rest[1:2]):
        yield cannot_judge("a named 'coproc'")
    elif inner := rest[start + wrapper.operands :]:
        if name != "xargs":
            return inner
        marker = _marker(rest[:start])
        return (*(_replaced(word, marker) for word in inner), Word(text=UNKNOWN, is_many=True))
    return ()


def _marker(options: Words) -> str:
    """Return the text that `xargs` replaces by each line of its input; empty: none."""
    texts = [word.text for word in options]
    for text, following in zip(texts, [*texts[1:], ""], strict=False):
        if text.startswith("--replace"):
            return text.partition("=")[2] or "{}"
        if text.startswith("-") and "I" in text and not text.startswith("--"):
            return text.partition("I")[2] or following
    return ""


def _replaced(word: Word, marker: str) -> Word:
    if not marker or marker not in word.text:
        return word
    return word.with_text(word.text.replace(marker, UNKNOWN))


def _env(rest: Words) -> Generator[Layer, None, Words]:
    """`env [-i] [-u NAME] [-C DIR] [NAME=VALUE …] [PROGRAM …]`; `-S` splits a text.

    Returns:
        The program that it starts, with its words.
    """
    flags = "-i -0 -v --ignore-environment --null --debug"
    program: Words = ()
    start = skip_options("env", rest, Wrapper(flags, "-u -S -C --unset --split-string --chdir"))
    if isinstance(start, Denied):
        yield start
    elif any(_splits(word.text) for word in rest[:start]):
        yield cannot_judge("'env -S' splits a text into a command, 'env -C' changes the folder")
    else:
        rest = rest[start:]
        # A single minus sign is `-i`.
        rest = rest[1:] if rest and rest[0].text == "-" else rest
        while rest and "=" in rest[0].text.partition(UNKNOWN)[0]:
            yield Setting(rest[0].text.partition("=")[0])
            rest = rest[1:]
        program = rest
    return program


def _splits(option: str) -> bool:
    long = option.startswith("--")
    return option.startswith(("--split", "--chdir")) or (
        option.startswith("-") and not long and ("S" in option or "C" in option)
    )


def _flock(rest: Words) -> Iterator[Layer]:
    wrapper = Wrapper("-s -x -e -n -u -o -F -v --shared --nonblock", "-w -E --wait", 1)
    start = skip_options("flock", rest, wrapper)
    if isinstance(start, Denied):
        yield start
    elif inner := rest[start + 1 :]:
        has_text = inner[0].text in {"-c", "--command"}
        yield from text_for("flock", inner[1:]) if has_text else layers(inner, None, is_piped=False)


def _find(rest: Words) -> Iterator[Layer]:
    """Each `-exec` or similar option runs the words up to `;` or `+`, with `{}` for a file."""
    place = 0
    while place < len(rest):
        if rest[place].text in {"-exec", "-execdir", "-ok", "-okdir"}:
            end = next(
                (at for at in range(place, len(rest)) if rest[at].text in {";", "+"}), len(rest)
            )
            inner = tuple(_replaced(word, "{}") for word in rest[place + 1 : end])
            yield from layers(inner, None, is_piped=False) if inner else ()
            place = end
        place += 1


def _loader(rest: Words) -> Iterator[Layer]:
    flags = "--list --verify --inhibit-cache --list-tunables --list-diagnostics"
    values = "--library-path --glibc-hwcaps-prepend --glibc-hwcaps-mask --inhibit-rpath --audit"
    start = skip_options("ld.so", rest, Wrapper(flags, f"{values} --preload --argv0"))
    if isinstance(start, Denied):
        yield start
    elif inner := rest[start:]:
        yield from layers(inner, None, is_piped=False)


def _daemon(rest: Words) -> Iterator[Layer]:
    """`start-stop-daemon --start --exec PROGRAM -- WORDS`; `-a` names another program to start."""
    place = next((at for at, word in enumerate(rest) if word.text == "--"), len(rest))
    named: dict[str, Word] = {}
    for word, following in pairwise((*rest[:place], Word(text=""))):
        option, equals, value = word.text.partition("=")
        if option.startswith("--"):
            named[option] = word.with_text(value) if equals else following
        elif (match := _STARTED.match(word.text)) is not None:
            attached = word.text[match.end() :]
            named[match[1]] = word.with_text(attached) if attached else following
    found = (named.get(each) for each in ("--startas", "a", "--exec", "x"))
    if program := next((each for each in found if each is not None), None):
        yield from layers((program, *rest[place + 1 :]), None, is_piped=False)


def _runner(rest: Words) -> Iterator[Layer]:
    """Words before the program are recognised here only by the minus sign."""
    while rest and rest[0].is_known and rest[0].text.startswith("-"):
        rest = rest[1:]
    if rest and rest[0].is_known and rest[0].text:
        yield from layers(rest, None, is_piped=False)


_STARTERS: Final = {
    "find": _find,
    "flock": _flock,
    "ld.so": _loader,
    "start-stop-daemon": _daemon,
    **dict.fromkeys(("bunx", "npx", "uvx", "valgrind"), _runner),
}
