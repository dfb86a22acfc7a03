"""Reading files that a person names, without trusting their kind or size."""

from pathlib import Path


class NotAFileError(OSError):
    """The path is missing, or is a folder, a pipe or a device; the message is a whole phrase."""


def read_bounded(path: Path, most_bytes: int) -> bytes:
    """Return a file's bytes; of a longer file the first `most_bytes + 1`.

    Raises:
        NotAFileError: it is not a regular file; a pipe or a device would block, or never end.
        OSError: it cannot be read.
    """
    if not path.is_file():
        raise NotAFileError(f"{str(path)!r} is not a file")
    with path.open("rb") as file:
        return file.read(most_bytes + 1)
