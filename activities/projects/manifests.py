"""Reads the manifests of a project as plain data; what cannot be read counts as saying nothing."""

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
    """Return a file's text; empty where it is absent."""
    return files.get(path, b"").decode("utf-8", errors="replace").removeprefix("\ufeff")


def toml(files: Files, path: str) -> Table:
    """Return a TOML file's top table; empty where it is absent or none."""
    try:
        return tomllib.loads(text(files, path))
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


def json_object(files: Files, path: str) -> Table:
    """Return a JSON file's object; empty where it is absent or none."""
    try:
        return as_table(json.loads(text(files, path) or "{}"))
    except (ValueError, RecursionError):
        return {}


def ini_value(files: Files, path: str, section: str, key: str) -> str:
    """Return one value of an INI file; empty where there is none."""
    parser = RawConfigParser(strict=False, allow_no_value=True)
    try:
        parser.read_string(text(files, path))
        return parser.get(section, key, fallback="") or ""
    except IniError:
        return ""


def table(data: Table, *keys: str) -> Table:
    """Return the table below these keys; empty where there is none."""
    for key in keys:
        data = as_table(data.get(key))
    return data


def as_table(value: object) -> Table:
    """Return a mapping as it is, and anything else as an empty one."""
    return cast(Table, value) if isinstance(value, dict) else {}


def texts(value: object) -> tuple[str, ...]:
    """Return the texts of a list; empty where it is none."""
    items = cast("list[object]", value)[:_MOST] if isinstance(value, list) else []
    return tuple(item for item in items if isinstance(item, str) and "\n" not in item)


def first_line(files: Files, path: str) -> str:
    """Return the first line that says something, without a comment."""
    lines = (line.partition("#")[0].strip() for line in text(files, path).splitlines())
    return next((line for line in lines if line), "")


def is_named(name: str, said: Iterable[str]) -> bool:
    """Whether requirements name a package."""
    pattern = re.compile(rf"\s*{re.escape(name)}(?![\w.-])", re.IGNORECASE)
    return any(pattern.match(each) for each in said)
