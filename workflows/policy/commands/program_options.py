"""The options of programs that start others, and where the started program begins after them."""

import posixpath
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from workflows.domain.agent.shell_tree import UNKNOWN, Word
from workflows.domain.agent.tool_policy import Denied

Words = tuple[Word, ...]
_SHOWN: Final = 80
_INSTEAD: Final = "write the program's name and the text of its commands out"


class Wrapper(NamedTuple):
    """The words between a wrapper's name and the program that it starts."""

    flags: str = ""
    """Options without a value; short ones as letters, long ones as words."""
    values: str = ""
    """Options with a value."""
    operands: int = 0
    """Words between the options and the program."""


WRAPPERS: Final = {
    "builtin": Wrapper(),
    "busybox": Wrapper(),
    "catchsegv": Wrapper(),
    "choom": Wrapper("", "-n -p --adjust --pid"),
    "chronic": Wrapper("-v -e"),
    "chrt": Wrapper("-b -f -i -o -r -R -a -v", "-T -P -D", 1),
    "command": Wrapper("-p"),
    "coproc": Wrapper(),
    "dbus-run-session": Wrapper("", "--config-file --dbus-daemon"),
    "eatmydata": Wrapper(),
    "exec": Wrapper("-c -l", "-a"),
    "fakeroot": Wrapper("-u --unknown-is-real", "-l -s -i -b --lib --faked"),
    "faketime": Wrapper("-m -p -f", "--exclude-monotonic", 1),
    "i386": Wrapper("-R -v"),
    "ionice": Wrapper("-t --ignore", "-c -n --class --classdata"),
    "linux32": Wrapper(),
    "linux64": Wrapper(),
    "logsave": Wrapper("-a -s -v", "", 1),
    "ltrace": Wrapper(
        "-c -C -f -i -L -r -S -t -tt -ttt -T -b", "-a -A -D -e -F -l -n -o -p -s -u -w -x"
    ),
    "nice": Wrapper("", "-n --adjustment"),
    "nohup": Wrapper(),
    "numactl": Wrapper("-s -H -a -l --localalloc --show --hardware", "-C -N -i -m -p -P"),
    "prlimit": Wrapper(
        "-c -d -e -f -i -l -m -n -q -r -s -t -u -v -x -y --as --core --cpu --data --fsize --locks"
        " --memlock --msgqueue --nice --nofile --nproc --raw --noheadings --rss --rtprio --rttime"
        " --sigpending --stack --verbose",
        "-o -p --output --pid",
    ),
    "proxychains": Wrapper("-q", "-f"),
    "rr": Wrapper("-n -h", "", 1),
    "setarch": Wrapper("-R -v", "", 1),
    "setsid": Wrapper("-c -f -w --ctty --fork --wait"),
    "stdbuf": Wrapper("", "-i -o -e --input --output --error"),
    "strace": Wrapper(
        "-c -C -d -D -f -ff -F -i -k -n -N -q -qq -r -t -tt -ttt -T -v -V -w -x -xx -y -yy -z -Z",
        "-a -b -e -E -I -o -O -p -P -s -S -u -U -X",
    ),
    "taskset": Wrapper("-a -c -p --all-tasks --cpu-list", "", 1),
    "time": Wrapper("-p -v -a --portability --verbose --append", "-f -o --format --output"),
    "timeout": Wrapper(
        "-v -f -p --foreground --preserve-status --verbose", "-k -s --kill-after --signal", 1
    ),
    "toybox": Wrapper(),
    "torsocks": Wrapper("-i -q", "-u -p -a -P"),
    "unbuffer": Wrapper("-p"),
    "uname26": Wrapper("-R -v"),
    "x86_64": Wrapper("-R -v"),
    "xargs": Wrapper(
        "-0 -r -t -p -o -x --null --no-run-if-empty --verbose --interactive --exit --open-tty"
        " --replace --max-lines",
        "-a -d -E -I -J -L -n -P -R -s -S --arg-file --delimiter --max-args --max-procs"
        " --max-chars --process-slot-var",
    ),
    "xvfb-run": Wrapper("-a -l --auto-servernum --listen-tcp", "-e -f -n -p -s -w"),
}


@lru_cache(maxsize=1_024)
def base_name(program: str) -> str:
    """Return a program's name without its folder, and without the version of an interpreter."""
    name = program.rpartition("/")[2]
    for plain in ("python", "pip"):
        if name.startswith(plain) and not name[len(plain) :].strip("0123456789."):
            return plain
    return name


def plain_path(path: str) -> str:
    """Return a path without `.`, `..` and duplicate slashes, including those at its beginning."""
    normal = posixpath.normpath(path)
    return normal[1:] if normal.startswith("//") else normal


def shown(words: Sequence[Word]) -> str:
    """Write a command for a person: short, on one line, with `…` for unknown text."""
    text = " ".join(" ".join(word.text.replace(UNKNOWN, "…").split()) or "''" for word in words)
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")


def cannot_judge(about: str) -> Denied:
    """Word the denial of a command whose program cannot be determined."""
    return Denied(rule="hidden-program", about=f"{about}, and cannot be judged", instead=_INSTEAD)


def skip_options(name: str, rest: Words, wrapper: Wrapper) -> int | Denied:
    """Return the index of the first word after the options."""
    flags, values = frozenset(wrapper.flags.split()), frozenset(wrapper.values.split())
    place = 0
    while place < len(rest):
        word = rest[place]
        if not word.is_known:
            head = word.text.partition(UNKNOWN)[0]
            if word.is_many or word.is_glob or not head.strip("-"):
                return cannot_judge(f"behind {name!r}, {shown([word])} may be an option or not")
        text = word.text
        if text == "--":
            return place + 1
        if not text.startswith(("-", "+")) or text == "-":
            return place
        taken = _taken(name, text, flags, values)
        if taken is None:
            about = f"{name!r} with the option {text!r}, which is not known here"
            return cannot_judge(about)
        place += taken
    return place


def _taken(name: str, text: str, flags: frozenset[str], values: frozenset[str]) -> int | None:
    """Return how many words an option takes, or None if that is unknown."""
    option, equals, _ = text.partition("=")
    if text.startswith("--"):
        takes = 1 if equals or option in flags else 2
        return takes if option in flags or option in values else None
    if text in flags or (name == "nice" and text[1:].lstrip("-").isdigit()):
        return 1
    for place, letter in enumerate(text[1:], 2):
        if f"-{letter}" in values:
            return 2 if place == len(text) else 1
        if f"-{letter}" not in flags:
            return None
    return 1
