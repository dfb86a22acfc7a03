"""How the person started this program, so that commands in messages work as shown.

Messages from lower layers say `blueflame`; the code that shows one passes it through `as_typed`.
"""

import re
import shlex
import shutil
import sys
from pathlib import Path
from typing import Final

NAME: Final = "blueflame"
_OURS: Final = re.compile(rf"(?<=[`'(]){NAME}(?= [a-z])")


def program() -> str:
    """Return the program as the person types it, for commands in messages."""
    typed = Path(sys.argv[0])
    if typed.parts[-2:] == ("starter", "__main__.py"):
        words = sys.orig_argv[: len(sys.orig_argv) - len(sys.argv) + 1]
        return shlex.join(words)
    found = shutil.which(NAME)
    is_on_path = found is not None and typed.exists() and Path(found).samefile(typed)
    return NAME if typed.name != NAME or is_on_path else shlex.quote(sys.argv[0])


def as_typed(message: str) -> str:
    """Return a message in which Blue Flame's commands begin as the person types them."""
    return _OURS.sub(lambda _: program(), message)
