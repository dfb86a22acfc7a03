"""Text of agents and repositories, as it may stand in a message to other people's services."""

import re
from typing import Final

from workflows.policy.text.secret_patterns import without_secrets
from workflows.policy.text.visible_text import ON_A_TERMINAL, escaped

_CALLS: Final = re.compile(r"@(?=\S)|<(?=!)")
"""How chat services begin a mention: `@everyone`, `<@U012>`, `<!channel>`."""
_APART: Final = "\u200b"
"""Has no width; after it, no service reads a mention."""


def harmless(text: str) -> str:
    """Return a text as one line that mentions no one and contains no secret.

    A mention would call every member of a channel, and a line break would let a text look like
    another item of the message, with another command.
    """
    line = " ".join(without_secrets(text).split())
    return _CALLS.sub(lambda found: found[0] + _APART, escaped(line, ON_A_TERMINAL))
