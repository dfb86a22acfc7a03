"""What the bundled server says of a database that it cannot use, in words for a person. Pure.

| the server says                       | what it means                                    |
|---------------------------------------|--------------------------------------------------|
| not a database, malformed             | the file is damaged or cut short                 |
| locked                                | another program has it open                      |
| no such table, no such column         | it is empty, or of another version of the server |
| unable to open, read-only, permission | the file or its folder belongs to another user   |
"""

from pathlib import Path
from typing import Final

_KEPT: Final = "the branches and refs of your repositories are not in it"
_DAMAGED: Final = (
    "is damaged. Put a backup of it in its place, or move it away to begin without the histories "
    f"of past sessions; {_KEPT}"
)
_LOCKED: Final = (
    "is held by another program, probably another Temporal server. End that program, or name "
    "another data directory in BLUEFLAME_DATA_DIR"
)
_OTHER: Final = (
    "is empty, or of another version of the server. Install the version that wrote it, or move it "
    f"away to begin without the histories of past sessions; {_KEPT}"
)
_CLOSED: Final = (
    "cannot be opened for writing. Give it and its folder to the user who runs Blue Flame, or name "
    "another data directory in BLUEFLAME_DATA_DIR"
)
_MEANINGS: Final = {
    "file is not a database": _DAMAGED,
    "disk image is malformed": _DAMAGED,
    "database is locked": _LOCKED,
    "no such table": _OTHER,
    "no such column": _OTHER,
    "unable to open database file": _CLOSED,
    "readonly database": _CLOSED,
    "permission denied": _CLOSED,
}


def database_fault(said: str, database: Path) -> str:
    """Return one sentence about the file and what to do; empty if it is not at fault.

    Args:
        said: the last line of the server's log.
        database: its file.
    """
    meaning = next((text for words, text in _MEANINGS.items() if words in said.lower()), "")
    return f"the server's database {str(database)!r} {meaning}" if meaning else ""
