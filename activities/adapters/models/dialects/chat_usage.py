"""What a compatible server says of the tokens of a call; where it says nothing, a measure of texts.

A count that is absent, or zero where there was something to count, is estimated and marked so: a
budget must never take it for nothing. Prices are not known here.
"""

import json

from activities.text.foreign_json import Json, count, table
from workflows.domain.agent.model_values import Usage

BYTES_PER_TOKEN = 3
"""An ordinary text's; a little less than it mostly is, so that an estimate is rather too high."""


def read_usage(body: Json, message: Json, sent: Json) -> Usage:
    """Read the usage of one answer.

    Args:
        body: the whole answer.
        message: what the model said, with its reasoning and calls.
        sent: the request's body.

    Returns:
        Input with the cached part in it, output with reasoning; marked where it is an estimate.
    """
    usage = table(body.get("usage"))
    counted = count(usage.get("prompt_tokens"))
    prompt = counted or _estimate(sent)
    # Some servers count reasoning in the total alone.
    beyond = count(usage.get("total_tokens")) - counted if counted else 0
    output = max(count(usage.get("completion_tokens")), beyond)
    is_guessed = output == 0 and any(value for key, value in message.items() if key != "role")
    details = table(usage.get("prompt_tokens_details"))
    return Usage(
        input_tokens=prompt,
        cached_input_tokens=_cached(usage, details),
        cache_write_tokens=count(details.get("cache_write_tokens")),
        output_tokens=_estimate(message) if is_guessed else output,
        is_estimated=counted == 0 or is_guessed,
    )


def _cached(usage: Json, details: Json) -> int:
    """OpenAI's field, or what others had before they took it over (DeepSeek, Moonshot)."""
    found = (
        details.get("cached_tokens"),
        usage.get("prompt_cache_hit_tokens"),
        usage.get("cached_tokens"),
    )
    return max(count(each) for each in found)


def _estimate(value: Json) -> int:
    return -(
        -len(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")) // BYTES_PER_TOKEN
    )
