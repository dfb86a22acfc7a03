"""Words for JSON that has the wrong shape, for the model that wrote it and for a person.

Used for all that models submit. Never repeats the offending value: it may be long or hostile.
"""

from typing import Final

from pydantic import ValidationError

from workflows.domain.plan import ID_PATTERN, Place

_WORDS: Final = {
    f"String should match pattern '{ID_PATTERN}'": (
        "must be of at most 63 lower-case letters, digits and hyphens, and not begin with a hyphen"
    ),
    "String should": "must",
    "Tuple should": "must",
    "Input should be a valid tuple": "must be a list",
    "Input should be a valid array": "must be a list",
    "Input should be a valid dictionary or instance of": "must be an object, a",
    "Input should be an object": "must be an object",
    "Input should": "must",
    "Field required": "is missing",
    "Extra inputs are not permitted": "is not a field here",
}
MAX_TEXT: Final = 300


def shape_faults(error: ValidationError, most: int) -> tuple[str, ...]:
    """Say in words what is wrong with the shape of a submitted value.

    Args:
        error: the validation error.
        most: the most lines; the last one then counts the rest.

    Returns:
        One line per fault: `tasks[2].claims: is missing`.
    """
    lines = [text for _, text in found_faults(error)]
    if len(lines) <= most:
        return tuple(lines)
    return (*lines[: most - 1], f"and {len(lines) - most + 1} faults more of this kind")


def found_faults(error: ValidationError) -> tuple[tuple[Place, str], ...]:
    """Return each fault of a submitted value: its place, and the line that describes it."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    # A list whose items are all refused is also called too short; the items' faults say it better.
    inner = {e["loc"][:end] for e in found for end in range(len(e["loc"]))}
    deepest = [e for e in found if e["loc"] not in inner]
    return tuple((e["loc"], f"{_place(e['loc'])}: {_reword(e['msg'])}"[:MAX_TEXT]) for e in deepest)


def _place(loc: tuple[int | str, ...]) -> str:
    """Write a location as `tasks[2].claims`, counting from 0 as JSON does."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part!s:.60}" for part in loc)
    return text.removeprefix(".") or "the whole"


def _reword(message: str) -> str:
    for theirs, ours in _WORDS.items():
        if message.startswith(theirs):
            return message.replace(theirs, ours, 1).replace(" after validation", "")
    return message
