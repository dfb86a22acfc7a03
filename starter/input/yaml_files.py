"""Reads YAML files that a person names as their type: decisions, plans, playbooks."""

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from activities.text.text_files import TextFileError, read_text_file
from activities.yaml_documents.model_reader import DocumentError, parse_document
from starter.console.command_errors import CommandError
from starter.decisions.decisions_file import Decisions
from workers.own_file import MAX_FILE_BYTES

M = TypeVar("M", bound=BaseModel)


def read_yaml_file(kind: type[M], path: Path, limit_bytes: int, name: str) -> M:
    """Read one document.

    Args:
        kind: the model of the document.
        path: the file.
        limit_bytes: the largest size.
        name: what the file is, for the message if it is not text.

    Raises:
        CommandError: it is not a text file, or is invalid; each complaint has line and column.
    """
    try:
        return parse_document(kind, read_text_file(path, limit_bytes), str(path))
    except TextFileError as error:
        raise CommandError(f"{name}: {error}") from None
    except DocumentError as error:
        raise CommandError(str(error)) from error


def read_decisions(path: Path) -> Decisions:
    """Read a decisions file.

    Raises:
        CommandError: it cannot be read, or is invalid; each complaint has line and column.
    """
    return read_yaml_file(Decisions, path, MAX_FILE_BYTES, "decisions file")


def check_playbook(path: Path) -> None:
    """Refuse a playbook that the workers could not read.

    Raises:
        CommandError: it is not a file, or not a playbook; the message has line and column.
    """
    from workers.provider_wiring import require_playbook

    if not path.is_file():
        raise CommandError(f"playbook {str(path)!r} is not a file; --playbook names a YAML file")
    try:
        require_playbook(path)
    except DocumentError as error:
        raise CommandError(f"playbook: {error}") from error
