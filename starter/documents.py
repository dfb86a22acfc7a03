"""`--json`: one valid document on the standard output, and nothing else there."""

import json
import sys
from collections.abc import Sequence

from pydantic import BaseModel

from starter.exit_codes import ExitCode


def write(document: BaseModel) -> ExitCode:
    """Write one document; it carries its own `schema_version`."""
    _write(document.model_dump(mode="json"))
    return ExitCode.COMPLETE


def write_all(documents: Sequence[BaseModel]) -> ExitCode:
    """Write a list as one document."""
    sessions = [document.model_dump(mode="json") for document in documents]
    _write({"schema_version": 1, "sessions": sessions})
    return ExitCode.COMPLETE


def _write(content: object) -> None:
    # ASCII, so that no locale can break it.
    sys.stdout.write(json.dumps(content, ensure_ascii=True, indent=2) + "\n")
