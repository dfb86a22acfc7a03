"""The words in which a wrong value in a document is complained of: for the document's author.

Pure. One pydantic error in, one sentence without its place out; what has no sentence of its own
here keeps pydantic's.
"""

from collections.abc import Mapping

from pydantic_core import ErrorDetails

from workflows.domain.plan import ID_PATTERN

_MAX_SHOWN = 60
_KINDS = {
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "decimal_type": "a number",
    "decimal_parsing": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "string_type": "a text (put it in quotes)",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a mapping of keys to values",
    "model_type": "a mapping of keys to values",
    "model_attributes_type": "a mapping of keys to values",
}
_FORMS = {
    r"^[a-z][a-z0-9-]{0,31}/[A-Za-z0-9._:/@+-]{1,200}$": (
        "provider/model, as in 'openai/gpt-6.1-terra'"
    ),
    ID_PATTERN: "1 to 63 of a-z, 0-9 and '-', the first no '-'",
    r"^[a-z0-9][a-z0-9_.-]{0,62}$": "1 to 63 of a-z, 0-9, '_', '.' and '-', the first a-z or 0-9",
    r"^[a-z][a-z0-9-]{0,31}$": "1 to 32 of a-z, 0-9 and '-', the first a-z",
}
"""Patterns of the documents' texts, in words; a pattern that is not here is shown as it is."""
_BOUNDS = {
    "greater_than_equal": ("at least", "ge"),
    "greater_than": ("more than", "gt"),
    "less_than_equal": ("at most", "le"),
    "less_than": ("less than", "lt"),
}


_BRACKETS = "; put it in brackets: [ ]"
_REMEDIES = (
    ("mapping values are not allowed", "indent it as the lines around it, or put a text in quotes"),
    ("sequence entries are not allowed", "begin the list on a line of its own"),
    ("could not find expected ':'", "write 'key: value'"),
    ("undefined alias", "put a text that begins with '*' in quotes"),
    ("expected alphabetic or numeric", "put a text that begins with '*' or '&' in quotes"),
    ("cannot start any token", "put the text in quotes"),
    ("end of stream", "a quote is not closed"),
    ("<block end>", "the indentation does not fit the lines above"),
    ("expected ',' or", "a bracket is not closed"),
    ("<document start>", "put a text that begins with '%' in quotes"),
    ("incompatible YAML", "remove the line that begins with %YAML"),
    ("is not allowed", "remove it, and save the file as UTF-8 text"),
)
"""What the parser's words hold, and what a person does about it."""


def syntax(problem: str) -> str:
    """Say what is not YAML, and what to do about it.

    Args:
        problem: in the words of the parser.
    """
    if "'\\t'" in problem:
        return "a tab; indent with spaces"
    if "another document" in problem:
        return "a second document begins here; a file holds one"
    cause = printable(problem.replace("'\\x00'", "the end of the file"))
    remedy = next((ours for theirs, ours in _REMEDIES if theirs in problem), None)
    return cause if remedy is None else f"{cause}; {remedy}"


def word(item: ErrorDetails) -> str:
    """Say what is wrong with one value, and what belongs there."""
    kind = item["type"]
    facts = item.get("ctx", {})
    if kind == "missing":
        return f"the key {str(item['loc'][-1])!r} is missing here"
    if kind == "extra_forbidden":
        return "unknown key"
    if kind == "too_short":
        return f"needs at least {facts['min_length']}, and has {facts['actual_length']}"
    wanted = _wanted(kind, facts)
    if wanted is not None:
        is_alone = wanted == "a list" and isinstance(item["input"], str)
        return f"must be {wanted}, not {brief(item['input'])}{_BRACKETS if is_alone else ''}"
    return item["msg"].removeprefix("Value error, ")


def _wanted(kind: str, facts: Mapping[str, object]) -> str | None:
    if kind in _BOUNDS:
        words, bound = _BOUNDS[kind]
        return f"{words} {facts[bound]}"
    if kind in {"literal_error", "enum"}:
        return str(facts["expected"])
    if kind == "string_pattern_mismatch":
        pattern = str(facts["pattern"])
        return f"of the form {_FORMS.get(pattern, pattern)}"
    return _KINDS.get(kind)


def printable(text: str) -> str:
    """Return a text on one line, with what cannot be seen written out."""
    return text if text.isprintable() else repr(text)[1:-1]


def brief(value: object) -> str:
    """Return a value in few words; of a list or mapping only that it is one."""
    if value is None:
        return "empty"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, bool):
        return str(value).lower()
    text = repr(value)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"
