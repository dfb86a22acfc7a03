"""What a provider counted is taken only where it can be right."""

import pytest

from activities.adapters.models.dialects.token_counts import Counts, number, usage_of
from activities.text.foreign_json import Json
from workflows.domain.agent.model_values import Usage

SENT: Json = {"messages": ["x" * 290]}
"""308 bytes as JSON."""
SAID: Json = {"text": "y" * 19}
"""31 bytes as JSON."""


@pytest.mark.parametrize(
    ("counts", "said", "usage"),
    [
        (Counts(90, 9, 50, 40, 20), SAID, (90, 50, 40, 20, 9)),
        (Counts(90, 0), {}, (90, 0, 0, 0, 0)),
    ],
)
def test_what_can_be_right_is_taken(
    counts: Counts, said: Json, usage: tuple[int, int, int, int, int]
) -> None:
    prompt, cached, written, written_5m, output = usage
    assert usage_of(counts, SENT, said) == Usage(
        input_tokens=prompt,
        cached_input_tokens=cached,
        cache_write_tokens=written,
        cache_write_5m_tokens=written_5m,
        output_tokens=output,
    )


@pytest.mark.parametrize(
    ("counts", "prompt", "output"),
    [
        (Counts(None, None), 103, 11),
        (Counts(0, 9), 103, 11),
        (Counts(-5, 9), 103, 11),
        (Counts(500, None), 500, 11),
        (Counts(500, 0), 500, 11),
        (Counts(500, -1), 500, 11),
        (Counts(90, 9, cached=91), 103, 11),
        (Counts(90, 9, cached=50, written=41), 103, 11),
        (Counts(90, 9, cached=-1), 103, 11),
        (Counts(90, 40, written_5m=-1), 103, 40),
    ],
)
def test_what_cannot_be_right_is_estimated_and_marked(
    counts: Counts, prompt: int, output: int
) -> None:
    """Field report G12."""
    usage = usage_of(counts, SENT, SAID)
    assert usage == Usage(input_tokens=prompt, output_tokens=output, is_estimated=True)


@pytest.mark.parametrize(
    ("value", "read"), [(3, 3), (-3, -3), (True, None), ("3", None), (3.0, None)]
)
def test_only_whole_numbers_count(value: object, read: int | None) -> None:
    assert number(value) == read
