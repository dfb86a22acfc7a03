"""Text files that a person names: read no further than a limit, decoded, and refused in words.

One function for all of them (goals, plans, decisions, playbooks, configurations); what a text means
is decided by its reader.
"""

from pathlib import Path


class TextFileError(Exception):
    """A file cannot be taken as a text; the message names it and says what to do."""


def read_bounded(path: Path, limit_bytes: int) -> bytes:
    """Return a file's bytes; of a longer file the first `limit_bytes + 1`.

    Raises:
        TextFileError: it is missing or not a regular file; a pipe or a device would block, or never
            end.
        OSError: it cannot be read.
    """
    if not path.is_file():
        raise TextFileError(f"{str(path)!r} is not a file")
    with path.open("rb") as file:
        return file.read(limit_bytes + 1)


def read_text_file(path: Path, limit_bytes: int) -> str:
    """Read a file as UTF-8 text, without its byte order mark.

    Args:
        path: the file; a link is followed.
        limit_bytes: the most that it may hold; no more than one byte beyond it is read.

    Raises:
        TextFileError: it is missing or not a regular file, too long, or not UTF-8.
        OSError: it cannot be read.
    """
    return decode_text(read_bounded(path, limit_bytes), limit_bytes, str(path))


def decode_text(data: bytes, limit_bytes: int, name: str) -> str:
    """Decode what was read of a text, at most one byte beyond the limit.

    Raises:
        TextFileError: it is too long, or not UTF-8, with line and column of the first wrong byte.
    """
    if len(data) > limit_bytes:
        raise TextFileError(f"{name}:1:1: over {limit_bytes:,} bytes; shorten it")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line, column = before.count(b"\n") + 1, len(before) - before.rfind(b"\n")
        raise TextFileError(f"{name}:{line}:{column}: not UTF-8; save the file as UTF-8") from None
