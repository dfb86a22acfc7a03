"""Compares what a command prints with the transcripts of a page in docs/.

Names of sessions and commits, times and places differ from run to run, and are not compared.
"""

import re
from pathlib import Path
from typing import Final

_DOCS: Final = Path(__file__).resolve().parents[1] / "docs"
_BLOCK: Final = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_SPOKEN: Final = frozenset({"", "console"})
"""Kinds of blocks that hold transcripts; others are configuration, data or commands alone."""
_CHANGING: Final = (
    (re.compile(r"\b01[0-9a-z]{24}\b"), "SESSION"),
    (re.compile(r"\b(?=[a-f]*\d)[0-9a-f]{12,40}\b"), "COMMIT"),
    (re.compile(r"\d{4}-\d\d-\d\d"), "DATE"),
    (re.compile(r"\d\d:\d\d(?::\d\d(?:\.\d+)?)?"), "TIME"),
    (re.compile(r"(?<![\w:/~.])(?:/[\w.@-]+)+"), "PLACE"),
)


def answers(page: str, command: str) -> bool:
    """Tell whether a transcript of the page has such a command, and what it printed."""
    typed = re.compile(rf"^{re.escape(command)}(?: .*)?\n(?!\$ ).", re.MULTILINE)
    return any(typed.search(block) for block in _blocks(page))


def unshown(page: str, said: str) -> list[str]:
    """Return the lines of what a command printed that stand in no transcript of the page.

    Args:
        page: its name, without folder and ending.
        said: the command's output, or a part of it.
    """
    known = {line.rstrip() for block in _blocks(page) for line in block.splitlines()}
    lines = (line.rstrip() for line in _plain(said).splitlines())
    return [line for line in lines if line and line not in known]


def _blocks(page: str) -> list[str]:
    text = _plain((_DOCS / f"{page}.md").read_text("utf-8"))
    return [block for kind, block in _BLOCK.findall(text) if kind in _SPOKEN]


def _plain(text: str) -> str:
    for pattern, word in _CHANGING:
        text = pattern.sub(word, text)
    return text
