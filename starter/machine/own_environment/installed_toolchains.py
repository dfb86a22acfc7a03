"""Finds the person's toolchains that a project could use, where version managers put them.

It reads only names of directories. It runs nothing and chooses nothing: the results are shown as a
line to copy.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from activities.projects.proposal import Language, ToolchainNeed

_PLACES: Final[Mapping[str, tuple[str, ...]]] = {
    "python": (".pyenv/versions/*", ".local/share/uv/python/cpython-*", ".asdf/installs/python/*"),
    "node": (".nvm/versions/node/*", ".local/share/fnm/node-versions/*/installation",
             ".asdf/installs/nodejs/*", ".volta/tools/image/node/*"),
    "go": ("sdk/go*", ".asdf/installs/golang/*"),
    "java": (".sdkman/candidates/java/*", ".asdf/installs/java/*"),
    "ruby": (".rbenv/versions/*", ".asdf/installs/ruby/*"),
    "php": (".asdf/installs/php/*",),
    "elixir": (".asdf/installs/elixir/*",),
}  # fmt: skip
"""Below the home, by language."""
_SYSTEM: Final[Mapping[str, tuple[str, ...]]] = {"go": ("/usr/local/go",)}
_PROGRAMS: Final[Mapping[str, str]] = {
    "python": "python3", "node": "node", "rust": "cargo", "go": "go", "java": "javac",
    "ruby": "ruby", "php": "php", "elixir": "elixir",
}  # fmt: skip
_NUMBERS: Final = re.compile(r"\d+(?:\.\d+)*")


def program_of(language: "Language") -> str:
    """Return the program that shows whether a language is installed."""
    return _PROGRAMS[language]


def find_toolchains(
    need: "ToolchainNeed", home: Path
) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Return toolchains for one need, and the variables that go with them; empty if none matches.

    Args:
        need: the language and its version.
        home: where version managers are searched; results in it are named with `~/`.
    """
    if need.language == "rust":
        return _rust(home)
    found = sorted(_installed(need.language, home), key=_version_of)
    fitting = [path for path in found if _fits(_version_of(path), need.version)]
    if not fitting:
        return (), ()
    name = _named(fitting[-1], home)
    return (name,), ((("JAVA_HOME", name),) if need.language == "java" else ())


def _rust(home: Path) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    if not (home / ".cargo" / "bin" / "cargo").exists():
        return (), ()
    if not (home / ".rustup").is_dir():
        return ("~/.cargo",), ()
    return ("~/.cargo", "~/.rustup"), (("RUSTUP_HOME", "~/.rustup"),)


def _installed(language: str, home: Path) -> Iterator[Path]:
    for pattern in _PLACES.get(language, ()):
        yield from (path for path in home.glob(pattern) if (path / "bin").is_dir())
    yield from (Path(each) for each in _SYSTEM.get(language, ()) if Path(each, "bin").is_dir())


def _version_of(path: Path) -> tuple[int, ...]:
    for part in reversed(path.parts):
        if found := _NUMBERS.search(part):
            return _numbers(found[0])
    return ()


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(each) for each in text.split("."))


def _fits(version: tuple[int, ...], wanted: str) -> bool:
    """Whether a version matches a project's: an exact one, or bounds as in `>=3.11,<4`."""
    return all(_holds(version, each.strip()) for each in re.split(r",|\s+(?=[<>^~=])", wanted))


def _holds(version: tuple[int, ...], bound: str) -> bool:
    match = re.fullmatch(r"(>=|<=|==|~=|>|<|!=|\^|~)?\s*[a-z-]*(\d+(?:\.\d+)*).*", bound)
    if match is None:
        return True
    number = _numbers(match[2])
    same = version[: len(number)]
    comparisons: dict[str, Callable[[], bool]] = {
        ">=": lambda: version >= number,
        ">": lambda: version > number and same != number,
        "<": lambda: version < number,
        "<=": lambda: version <= number or same == number,
        "!=": lambda: same != number,
        "^": lambda: version >= number and version[:1] == number[:1],
        "~": lambda: version >= number and version[:2] == number[:2],
        "~=": lambda: version >= number and same[:-1] == number[:-1],
    }
    return comparisons.get(match[1] or "", lambda: same == number)()


def _named(path: Path, home: Path) -> str:
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)
