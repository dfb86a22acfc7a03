"""Reads the manifests of a project as plain data; an unreadable one counts as empty."""

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from configparser import Error as IniError
from configparser import RawConfigParser
from typing import cast

Files = Mapping[str, bytes]
Table = dict[str, object]
_MOST = 1_000


def text(files: Files, path: str) -> str:
    """Return a file's text; empty if it is missing."""
    return files.get(path, b"").decode("utf-8", errors="replace").removeprefix("\ufeff")


def toml(files: Files, path: str) -> Table:
    """Return a TOML file's top table; empty if it is missing or not TOML."""
    try:
        return tomllib.loads(text(files, path))
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


def json_object(files: Files, path: str) -> Table:
    """Return a JSON file's object; empty if it is missing or not an object."""
    try:
        return as_table(json.loads(text(files, path) or "{}"))
    except (ValueError, RecursionError):
        return {}


def ini_value(files: Files, path: str, section: str, key: str) -> str:
    """Return one value of an INI file; empty if there is none."""
    parser = RawConfigParser(strict=False, allow_no_value=True)
    try:
        parser.read_string(text(files, path))
        return parser.get(section, key, fallback="") or ""
    except IniError:
        return ""


def table(data: Table, *keys: str) -> Table:
    """Return the table below these keys; empty if there is none."""
    for key in keys:
        data = as_table(data.get(key))
    return data


def as_table(value: object) -> Table:
    """Return a mapping unchanged, and an empty one for anything else."""
    return cast(Table, value) if isinstance(value, dict) else {}


def texts(value: object) -> tuple[str, ...]:
    """Return the texts of a list; empty if it is not a list."""
    items = cast("list[object]", value)[:_MOST] if isinstance(value, list) else []
    return tuple(item for item in items if isinstance(item, str) and "\n" not in item)


def first_line(files: Files, path: str) -> str:
    """Return the first line that is not blank, without a comment."""
    lines = (line.partition("#")[0].strip() for line in text(files, path).splitlines())
    return next((line for line in lines if line), "")


def is_named(name: str, said: Iterable[str]) -> bool:
    """Say whether requirements name a package."""
    pattern = re.compile(rf"\s*{re.escape(name)}(?![\w.-])", re.IGNORECASE)
    return any(pattern.match(each) for each in said)
