"""Small files that others may read at any moment: replaced whole, never seen half-written."""

import os
import tempfile
from pathlib import Path


def replace_text(path: Path, text: str) -> None:
    """Put `text` into the file at `path`, readable by its owner only.

    Raises:
        OSError: the directory cannot be written; the old content stays, and nothing else is left.
    """
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
