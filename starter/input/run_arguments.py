"""What a person typed after `run`, checked before anything is looked at or started."""

import os
from pathlib import Path

from activities.text.surrogates import clean
from starter.console.command_errors import CommandError


def goal_text(typed: str) -> str:
    """Return the goal as text.

    Raises:
        CommandError: it is empty, or no text.
    """
    if not typed.strip():
        raise CommandError("the goal is empty; say what you want in a sentence")
    if clean(typed) == typed:
        return typed
    try:
        # Under an ASCII locale what is not ASCII comes as single bytes.
        return os.fsencode(typed).decode()
    except UnicodeDecodeError as error:
        raise CommandError(
            "the goal is not UTF-8 text; type it in a terminal that writes UTF-8"
        ) from error


def check_playbook(path: Path) -> None:
    """Refuse a playbook that the workers could not read.

    Raises:
        CommandError: it is not a file, or not a playbook; the message has line and column.
    """
    from activities.yaml_documents.model_reader import DocumentError
    from workers.provider_wiring import require_playbook

    if not path.is_file():
        raise CommandError(f"playbook {str(path)!r} is not a file; --playbook names a YAML file")
    try:
        require_playbook(path)
    except DocumentError as error:
        raise CommandError(f"playbook: {error}") from error
