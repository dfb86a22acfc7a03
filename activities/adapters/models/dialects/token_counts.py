"""What a provider counted, or an estimate where that cannot be right.

A budget must never take a missing or impossible count for nothing: such an answer is marked, and
the agent is charged its quote.
"""

import json
from typing import NamedTuple

from activities.text.foreign_json import Json
from workflows.domain.agent.model_values import Usage

_BYTES_PER_TOKEN = 3
"""For ordinary text; a little less than the usual ratio, so that estimates are rather too high."""


class Counts(NamedTuple):
    """Tokens as reported; None: not reported as a whole number."""

    prompt: int | None
    """With its cached part."""
    output: int | None
    """With reasoning."""
    cached: int = 0
    written: int = 0
    """Written to the cache, whatever its time to live."""
    written_5m: int = 0


def number(value: object) -> int | None:
    """Return a whole number, negative ones included; None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def usage_of(counts: Counts, sent: Json, said: object) -> Usage:
    """Return what was counted if it can be right, else an estimate from the texts, marked as such.

    | what was counted                      | can be right |
    |---------------------------------------|--------------|
    | no prompt, or none of its tokens      | no           |
    | a negative number                     | no           |
    | more cached tokens than prompt tokens | no           |
    | no output, or zero for an answer      | no           |
    | anything else                         | yes          |

    Args:
        counts: as reported.
        sent: the request's body.
        said: the answer's content; empty if there is none.
    """
    prompt, output = counts.prompt or 0, counts.output
    parts = (counts.cached, counts.written, counts.written_5m)
    is_prompt_right = min(prompt - 1, *parts) >= 0 and counts.cached + counts.written <= prompt
    if is_prompt_right and output is not None and output >= (1 if said else 0):
        return Usage(
            input_tokens=prompt,
            cached_input_tokens=counts.cached,
            cache_write_tokens=counts.written,
            cache_write_5m_tokens=counts.written_5m,
            output_tokens=output,
        )
    return Usage(
        input_tokens=prompt if is_prompt_right else max(prompt, _estimate(sent)),
        output_tokens=max(output or 0, _estimate(said) if said else 0),
        is_estimated=True,
    )


def _estimate(value: object) -> int:
    written = json.dumps(value, ensure_ascii=False, default=str).encode("utf-8", "replace")
    return -(-len(written) // _BYTES_PER_TOKEN)
