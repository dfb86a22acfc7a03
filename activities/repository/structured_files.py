"""Tells whether a file in a structured format can still be read, each key once.

A merge joins lines: two changes that each add the same key give a file that holds it twice, of
which most programs silently take the last. What a file means is not looked at.
"""

import json
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Final, Literal, Protocol

from pydantic import TypeAdapter, ValidationError

_PACKAGES: Final = TypeAdapter(list[dict[str, object]])
MAX_BYTES: Final = 1 << 20
"""Of a file that is looked at; reading YAML takes seconds for each MiB."""
_KINDS: Final = {
    ".json": "json",
    ".toml": "toml",
    ".yaml": "yaml",
    ".yml": "yaml",
    "package-lock.json": "json",
    "composer.lock": "json",
    "Pipfile.lock": "json",
    "flake.lock": "json",
    "Pipfile": "toml",
    "Cargo.lock": "toml",
    "poetry.lock": "toml",
    "uv.lock": "toml",
    "pdm.lock": "toml",
    "pubspec.lock": "yaml",
}


class _Scalar(Protocol):
    """A node of composed YAML, as far as it is used here (the library has no types)."""

    id: Literal["scalar"]
    value: str


class _Sequence(Protocol):
    id: Literal["sequence"]
    value: "list[_Node]"


class _Mapping(Protocol):
    id: Literal["mapping"]
    value: "list[tuple[_Node, _Node]]"


_Node = _Scalar | _Sequence | _Mapping


def is_structured(path: str) -> bool:
    """Tell whether a file's name says that it is in a format that is looked at."""
    return _kind(path) is not None


def structure_fault(path: str, data: bytes) -> str | None:
    """Say what is wrong with a structured file; None: nothing, or it is not looked at."""
    kind = _kind(path)
    if kind is None or len(data) > MAX_BYTES:
        return None
    try:
        return _FAULTS[kind](data.decode())
    except (ValueError, RecursionError) as error:
        return f"it is not valid {kind.upper()} any more ({_first_line(error)})"


def _kind(path: str) -> str | None:
    pure = PurePosixPath(path)
    return _KINDS.get(pure.name) or _KINDS.get(pure.suffix)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0][:200]


def _json(text: str) -> str | None:
    found: list[str] = []

    def pairs(items: list[tuple[str, object]]) -> dict[str, object]:
        found.extend(_twice(key for key, _ in items))
        return dict(items)

    json.loads(text, object_pairs_hook=pairs)
    return _told(found)


def _toml(text: str) -> str | None:
    document: dict[str, object] = tomllib.loads(text)  # refuses a key that is there twice
    try:
        packages = _PACKAGES.validate_python(document.get("package"))
    except ValidationError:
        return None  # not a lock file
    named = [_package(each) for each in packages if "name" in each]
    return _told(list(_twice(iter(named))))


def _package(entry: Mapping[str, object]) -> str:
    """Return what a lock file tells packages apart by."""
    return " ".join(str(entry[key]) for key in ("name", "version", "source") if key in entry)


def _yaml(text: str) -> str | None:
    from ruamel.yaml import YAML, YAMLError

    try:
        documents: list[_Node | None] = list(YAML(typ="rt").compose_all(text))
    except YAMLError as error:
        raise ValueError(str(error)) from error
    return _told([key for top in documents if top is not None for key in _yaml_keys(top)])


def _yaml_keys(top: _Node) -> Iterator[str]:
    """Yield each scalar key that a mapping at or below a node holds twice."""
    waiting, seen = [top], set[int]()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:  # an alias leads to it as well
            continue
        seen.add(id(node))
        if node.id == "mapping":
            keys = (key.value for key, _ in node.value if key.id == "scalar")
            yield from _twice(key for key in keys if key != "<<")
            waiting += [value for _, value in node.value]
        elif node.id == "sequence":
            waiting += node.value


def _twice(keys: Iterator[str]) -> Iterator[str]:
    seen: set[str] = set()
    for key in keys:
        if key in seen:
            yield key
        seen.add(key)


def _told(keys: list[str]) -> str | None:
    if not keys:
        return None
    return f"it holds {', '.join(f'{key!r}' for key in dict.fromkeys(keys[:5]))} twice"


_FAULTS: Final[dict[str, Callable[[str], str | None]]] = {
    "json": _json,
    "toml": _toml,
    "yaml": _yaml,
}
