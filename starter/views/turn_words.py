"""An agent's turns in words: who, when, what it said, which tools with which short results.

Pure: values in, lines out. Text of models and tools passes `shown` or `one_line`.
"""

import json
from typing import Final

from starter.console.terminal import one_line, shown
from starter.sessions.turn_history import Happening
from starter.views.safety_labels import SCRIPTED
from workflows.domain.agent.messages import ToolCall
from workflows.policy.money.amounts_in_words import counted, money

_TEXT_LINES: Final = 20
_WIDTH: Final = 160
_TOLD_FIRST: Final = ("command", "path", "summary")
"""The most informative argument, by the tools' own names."""


def happening(one: Happening) -> list[str]:
    """Return one happening: its first line with the facts, the rest indented."""
    facts = [f"{one.at.astimezone():%H:%M:%S}", one.agent]
    facts += [f"turn {one.turn}"] if one.turn else []
    facts += [one.kind]
    facts += [one.model] if one.model else []
    about = " (estimated)" if one.is_estimated else ""
    facts += [f"{money(one.cost_usd)}{about}"] if one.cost_usd is not None else []
    facts += [f"{one.took.total_seconds():.1f} s"] if one.took is not None else []
    facts += [SCRIPTED] if one.scripted else []
    return [
        "  ".join(map(shown, facts)),
        *_text(one.text),
        *(f"  > {_call(call)}" for call in one.calls),
        *(
            f"  < {shown(each.name)}{' failed' if each.is_error else ''}: "
            f"{one_line(each.text, _WIDTH) or '(no output)'}"
            for each in one.results
        ),
    ]


def _text(text: str) -> list[str]:
    lines = text.strip().split("\n") if text.strip() else []
    more = len(lines) - _TEXT_LINES
    cut = [f"    ... {counted(more, 'more line')}; --json has them"] if more > 0 else []
    return [*(f"    {shown(line)}" for line in lines[:_TEXT_LINES]), *cut]


def _call(call: ToolCall) -> str:
    first = next((name for name in _TOLD_FIRST if isinstance(call.arguments.get(name), str)), None)
    told = str(call.arguments[first]) if first else json.dumps(call.arguments)
    return f"{shown(call.name)}: {one_line(call.malformed or told, _WIDTH)}"
