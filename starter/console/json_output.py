"""`--json`: one valid document on the standard output, and nothing else, even for errors."""

import json
import sys
from collections.abc import Mapping
from typing import Final

from pydantic import BaseModel

from starter.console.exit_codes import ExitCode

SCHEMA_VERSION: Final = 1


def write(document: BaseModel) -> ExitCode:
    """Write one document that carries its own `schema_version`."""
    write_line(document.model_dump(mode="json"), indent=2)
    return ExitCode.COMPLETE


def write_object(**content: object) -> ExitCode:
    """Write one document; models in it are written as their JSON.

    Args:
        content: its keys besides `schema_version`.
    """
    write_line({"schema_version": SCHEMA_VERSION, **content}, indent=2)
    return ExitCode.COMPLETE


def write_line(content: Mapping[str, object], indent: int | None = None) -> None:
    """Write one object, on one line if there is no indent."""
    # ASCII, so that no locale can break it.
    text = json.dumps(content, ensure_ascii=True, indent=indent, default=_plain)
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def write_error(message: str, code: ExitCode) -> None:
    """Write why a command gave no document, as the document.

    Args:
        message: the text of the error stream.
        code: the command's exit code.
        code: what the command leaves with.
    """
    error = {"code": int(code), "kind": code.name.lower(), "message": message}
    # On one line: in line-based output it is one more document.
    write_line({"schema_version": SCHEMA_VERSION, "error": error})


def _plain(value: object) -> object:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    raise TypeError(f"{type(value).__name__} does not belong into a document")
