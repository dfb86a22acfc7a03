"""The texts that a command makes a shell read: scripts, words to evaluate, subscripts.

Each text is returned, so that it is judged as commands are; text that cannot be read is denied.
`wrappers` handles programs that start others word by word.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final, NamedTuple

from workflows.domain.agent.shell_tree import UNKNOWN, Word
from workflows.domain.agent.tool_policy import Denied
from workflows.policy.commands.program_options import (
    Words,
    Wrapper,
    cannot_judge,
    plain_path,
    shown,
    skip_options,
)

_SHELLS: Final = frozenset({"ash", "bash", "dash", "ksh", "mksh", "rbash", "sh", "zsh"})
_STARTUP: Final = frozenset({"--rcfile", "--init-file"})
_SHELL_VALUES: Final = frozenset({"-o", "+o", "-O", "+O", *_STARTUP})
_EVALUATING: Final = frozenset({
    "[", "[[", "declare", "export", "getopts", "let", "local", "printf", "read", "readonly", "test",
    "typeset", "unset", "wait",
})  # fmt: skip
"""Builtins that evaluate subscripts and the substitutions in them."""


class ShellText(NamedTuple):
    """A text that a shell would read, to be parsed and judged."""

    text: str


Texts = Iterator[ShellText | Denied]


def shell_texts(name: str, rest: Words, stdin: Word | None, *, is_piped: bool) -> Texts:
    """List the texts that a program makes a shell read.

    Args:
        name: the program's name, without its folder.
        rest: its words.
        stdin: the text of a here-document, if there is one.
        is_piped: its input is another command's output, or cannot be checked.
    """
    if name in _SHELLS:
        yield from _shell(name, rest, stdin, is_piped=is_piped)
    elif name in _READERS:
        yield from _READERS[name](rest)
    elif name in _TEXT_OPTIONS:
        yield from _option_texts(name, rest)
    elif name in _EVALUATING:
        yield from _subscripts(name, rest)


def _shell(name: str, rest: Words, stdin: Word | None, *, is_piped: bool) -> Texts:
    """A shell takes its commands from `-c`, a file, or its input."""
    for option, value in pairwise(rest):
        if option.text in _STARTUP:
            yield from _script_file((value,))
    letters, rest = _shell_options(rest)
    if rest and (rest[0].is_many or rest[0].text.startswith("-")):
        yield cannot_judge(f"{name!r} with {shown([rest[0]])}")
    elif "c" in letters:
        yield from text_for(name, rest)
    elif rest and "s" not in letters:
        yield from _script_file((rest[0],))
    elif stdin is not None:
        yield from text_for(name, (stdin,))
    elif is_piped:
        yield cannot_judge(f"{name!r} would run what another program writes")


def _shell_options(rest: Words) -> tuple[str, Words]:
    """Return the letters of a shell's options, and the words after them."""
    letters = ""
    while rest and rest[0].is_known and rest[0].text.startswith(("-", "+")):
        text = rest[0].text
        if text in {"-", "--"}:
            return letters, rest[1:]
        letters += "" if text.startswith("--") else text[1:]
        takes = text in _SHELL_VALUES or (text[1] != "-" and text[-1] in "oO")
        rest = rest[2:] if takes else rest[1:]
    return letters, rest


def text_for(name: str, rest: Words) -> Texts:
    """Return the first word as the text that a program passes to a shell."""
    if rest and rest[0].is_known:
        yield ShellText(rest[0].text)
    elif rest:
        about = f"the text for {name!r} holds an expansion; in single quotes it holds none"
        yield cannot_judge(about)


def is_script_file(word: Word) -> bool:
    """Tell whether a script is a file that could be inspected; such scripts are allowed unread."""
    if word.is_many or word.text == UNKNOWN:
        return False
    if plain_path(word.text).startswith(("/dev/", "/proc/")):
        return False
    return not (word.is_glob and word.text.startswith((UNKNOWN, "/")))


def _script_file(rest: Words) -> Texts:
    for word in rest[:1]:
        if not is_script_file(word):
            yield cannot_judge(f"the script {shown([word])} is not a file that could be looked at")


def _evaluated(rest: Words) -> Texts:
    rest = _behind_dashes(rest)
    if all(word.is_known for word in rest):
        yield ShellText(" ".join(word.text for word in rest))
    else:
        yield cannot_judge(f"'eval' of {shown(rest)}")


def _behind_dashes(rest: Words) -> Words:
    return rest[1:] if rest and rest[0].text == "--" else rest


def _trap(rest: Words) -> Texts:
    rest = _behind_dashes(rest)
    if len(rest) > 1 and rest[0].text not in {"-", "-l", "-p"}:
        yield from text_for("trap", rest)


def _alias(rest: Words) -> Texts:
    for word in rest:
        if "=" in word.text:
            value = word.with_text(word.text.partition("=")[2])
            yield from text_for("alias", (value,))


def _joined(name: str, wrapper: Wrapper, rest: Words) -> Texts:
    """Programs that pass their words to a shell as one text."""
    start = skip_options(name, rest, wrapper)
    if isinstance(start, Denied):
        yield start
    else:
        yield from _evaluated(rest[start:])


def _watch(rest: Words) -> Texts:
    flags = "-b -c -d -e -g -t -x --beep --color --errexit --exec --no-title"
    yield from _joined("watch", Wrapper(flags, "-n --interval"), rest)


def _parallel(rest: Words) -> Texts:
    wrapper = Wrapper("-k -0 -u --keep-order --null --bar", "-j -n -N -I -a --jobs --arg-file")
    yield from _joined("parallel", wrapper, rest)


def _callback(rest: Words) -> Texts:
    """`mapfile`, `readarray` and `compgen` run the text after `-C`."""
    for place, word in enumerate(rest):
        if word.text.startswith("-") and "C" in word.text:
            attached = word.text.partition("C")[2]
            value = (word.with_text(attached),) if attached else rest[place + 1 :]
            yield from text_for("-C", value)
    yield from _subscripts("mapfile", rest)


def _subscripts(name: str, rest: Words) -> Texts:
    about = (
        f"{name!r} evaluates the subscript in {shown([word])}"
        for word in rest
        if "[" in word.text and ("$(" in word.text or "`" in word.text)
    )
    yield from map(cannot_judge, about)


def _hash(rest: Words) -> Texts:
    if any(word.text.startswith("-") and "p" in word.text for word in rest):
        yield cannot_judge("'hash -p' gives a program another name")


def _shopt(rest: Words) -> Texts:
    for word in rest:
        if word.text in {"expand_aliases", "lastpipe"}:
            yield cannot_judge(
                f"what follows 'shopt' with {word.text!r} reads otherwise than it runs"
            )


_TEXT_OPTIONS: Final = {
    "cpio": ("--rsh-command",),
    "hyperfine": ("-s", "--setup", "-p", "--prepare", "-c", "--conclude", "--cleanup"),
    "man": ("-P", "--pager", "-H", "--html"),
    "rsync": ("-e", "--rsh"),
    "script": ("-c", "--command"),
    "scriptlive": ("-c", "--command"),
    "sg": ("-c",),
    "sort": ("--compress-program",),
    "split": ("--filter",),
    "su": ("-c", "--command", "--session-command"),
    "runuser": ("-c", "--command", "--session-command"),
    "tar": (
        *("-I", "--use-compress-program", "--to-command", "--checkpoint-action", "--rsh-command"),
        *("-F", "--info-script", "--new-volume-script"),
    ),
    "zip": ("-TT", "--unzip-command"),
}
"""By program: the options whose value is a text for a shell."""
_IN_A_CLUSTER: Final = {"tar": "IF", "su": "c", "runuser": "c", "script": "c", "scriptlive": "c"}
"""Letters that take the next word as a text at the end of several letters, as in `tar -cIf`."""


def _option_texts(name: str, rest: Words) -> Texts:
    """List the values of a program's options that a shell would read."""
    options = _TEXT_OPTIONS[name]
    letters = _IN_A_CLUSTER.get(name, "")
    for word, following in pairwise((*rest, Word(text=""))):
        option, equals, value = word.text.partition("=")
        if not word.is_known and not option.startswith("-"):
            continue
        if _is_abbreviated(option, options) and equals:
            yield from text_for(name, (word.with_text(_action(value)),))
        elif _is_abbreviated(option, options) or _ends_cluster(option, letters):
            yield from text_for(name, (following.with_text(_action(following.text)),))
        elif attached := _attached(word.text, options):
            yield from text_for(name, (word.with_text(attached),))


def _is_abbreviated(option: str, options: tuple[str, ...]) -> bool:
    """Tell whether an option is one of those, or the beginning of a long one."""
    is_long = option.startswith("--") and len(option) > len("--x")
    return option in options or (is_long and any(each.startswith(option) for each in options))


def _ends_cluster(option: str, letters: str) -> bool:
    is_short = option.startswith("-") and not option.startswith("--") and len(option) > 1
    return is_short and option[-1] in letters


def _attached(text: str, options: tuple[str, ...]) -> str:
    short = (each for each in options if len(each) == len("-x"))
    return next((text[len(each) :] for each in short if text.startswith(each)), "")


def _action(value: str) -> str:
    """Return the command of a checkpoint's action of tar, and any other text as it is."""
    return value.removeprefix("exec=")


def _hyperfine(rest: Words) -> Texts:
    """Every word that is no option may be a command to time; values of options are read as well."""
    yield from _option_texts("hyperfine", rest)
    for word in rest:
        if not word.text.startswith("-"):
            yield from text_for("hyperfine", (word,))


_READERS: Final = {
    ".": _script_file,
    "alias": _alias,
    "compgen": _callback,
    "eval": _evaluated,
    "hash": _hash,
    "hyperfine": _hyperfine,
    "mapfile": _callback,
    "parallel": _parallel,
    "readarray": _callback,
    "shopt": _shopt,
    "source": _script_file,
    "trap": _trap,
    "watch": _watch,
}
