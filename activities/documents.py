"""YAML documents into frozen models, with line and column in every complaint.

One dialect for every file that a person writes: YAML 1.2 in which doubled keys, tags, unquoted
dates, NaN and infinities are refused, aliases are allowed but counted (an alias bomb is refused
before it unfolds), and an unknown key is refused with the nearest known one named. It reads no file
itself.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from types import UnionType
from typing import Annotated, Any, Protocol, TypeVar, Union, cast, get_args, get_origin

from pydantic import AliasChoices, BaseModel, JsonValue, ValidationError
from pydantic_core import ErrorDetails

from activities.document_wording import word

MAX_NODES = 200_000
MAX_DEPTH = 200
MAX_COMPLAINTS = 10

_TAG = "tag:yaml.org,2002:"
_Loc = tuple[int | str, ...]
M = TypeVar("M", bound=BaseModel)


class DocumentError(ValueError):
    """The document is not what it should be; the message names file, line, column and remedy."""


class _Mark(Protocol):
    line: int
    column: int


class _Node(Protocol):
    """A node of the composed text, as far as it is used here (the library has no types)."""

    tag: str | None
    value: Any
    start_mark: _Mark


def parse_document(
    model: type[M], text: str, name: str, context: Mapping[str, object] | None = None
) -> M:
    """Read one YAML (or JSON) document as `model`.

    Args:
        model: what the document must be; it should forbid extra keys.
        text: the whole document.
        name: how messages call it, usually its path.
        context: what validators of the model are told; None: nothing.

    Raises:
        DocumentError: it is no YAML, or no `model`; up to ten complaints, one a line.
    """
    source = _Source(name)
    data = source.read(text)
    try:
        return model.model_validate(data, context=context)
    except ValidationError as error:
        found = _causes(error.errors(include_url=False))
        lines = [source.complaint(model, item["loc"], item) for item in found[:MAX_COMPLAINTS]]
        if len(found) > MAX_COMPLAINTS:
            lines.append(f"{name}: and {len(found) - MAX_COMPLAINTS} more")
        raise DocumentError("\n".join(lines)) from None


def _causes(found: Sequence[ErrorDetails]) -> list[ErrorDetails]:
    """Leave out that a list is too short where that is only because its items were refused."""
    deeper = {item["loc"][:n] for item in found for n in range(len(item["loc"]))}
    return [item for item in found if item["type"] != "too_short" or item["loc"] not in deeper]


class _Source:
    """One document: its data, and where each of its keys and values stands."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._marks: dict[_Loc, tuple[int, int]] = {}
        self._nodes = 0

    def read(self, text: str) -> JsonValue:
        from ruamel.yaml import YAML, YAMLError

        yaml: Any = YAML(typ="safe", pure=True)
        try:
            root = yaml.compose(text)
            self._scalar = partial(yaml.constructor.construct_object, deep=True)
            return None if root is None else self._value(root, ())
        except YAMLError as error:
            raise self._syntax(error) from None
        except RecursionError:
            raise DocumentError(f"{self._name}: nested deeper than {MAX_DEPTH}") from None

    def complaint(self, model: type[BaseModel], loc: _Loc, item: ErrorDetails) -> str:
        """Word one pydantic error: place, path, what is wrong, what to write instead."""
        message = _unknown_key(model, loc) if item["type"] == "extra_forbidden" else word(item)
        path = ".".join(str(part) for part in self._known(loc)) or "the document"
        return f"{self._place(loc)}: {path}: {message}"

    def _value(self, node: _Node, loc: _Loc) -> JsonValue:
        self._nodes += 1
        if self._nodes > MAX_NODES or len(loc) > MAX_DEPTH:
            raise self._error(node, "too large or too deep once its aliases are unfolded")
        self._marks.setdefault(loc, (node.start_mark.line + 1, node.start_mark.column + 1))
        kind = node.tag.removeprefix(_TAG) if node.tag else ""
        if kind == "map":
            return {key: self._value(item, (*loc, key)) for key, item in self._pairs(node, loc)}
        if kind == "seq":
            return [self._value(item, (*loc, index)) for index, item in enumerate(node.value)]
        return self._leaf(node, kind)

    def _pairs(self, node: _Node, loc: _Loc) -> Iterator[tuple[str, _Node]]:
        seen: set[str] = set()
        for key, item in node.value:
            if not isinstance(key.value, str):
                raise self._error(key, "a key must be plain text")
            if key.value in seen:
                raise self._error(key, f"the key {key.value!r} stands twice; remove one")
            seen.add(key.value)
            self._marks[(*loc, key.value)] = (key.start_mark.line + 1, key.start_mark.column + 1)
            yield key.value, item

    def _leaf(self, node: _Node, kind: str) -> JsonValue:
        if kind == "str":
            return str(node.value)
        if kind == "timestamp":
            raise self._error(node, f"put {node.value} in quotes: an unquoted date is no text")
        if kind not in {"int", "float", "bool", "null"}:
            raise self._error(node, f"the tag {node.tag} is not allowed")
        value = cast("int | float | bool | None", self._scalar(node))
        if isinstance(value, float) and not math.isfinite(value):
            raise self._error(node, f"{node.value} is no finite number")
        return value

    def _known(self, loc: _Loc) -> _Loc:
        """The longest part of `loc` that stands in the text (unions and shorthands add to it)."""
        known: _Loc = ()
        for part in loc:
            if (*known, part) in self._marks:
                known = (*known, part)
        return known

    def _place(self, loc: _Loc) -> str:
        line, column = self._marks.get(self._known(loc), (1, 1))
        return f"{self._name}:{line}:{column}"

    def _error(self, node: _Node, message: str) -> DocumentError:
        mark = node.start_mark
        return DocumentError(f"{self._name}:{mark.line + 1}:{mark.column + 1}: {message}")

    def _syntax(self, error: Any) -> DocumentError:
        mark = getattr(error, "problem_mark", None)
        if mark is None:
            return DocumentError(f"{self._name}: {str(error).splitlines()[0]}")
        problem = error.problem or error.context or "no YAML"
        if "'\\t'" in problem:
            problem = "a tab; indent with spaces"
        return DocumentError(f"{self._name}:{mark.line + 1}:{mark.column + 1}: {problem}")


def _unknown_key(model: type[BaseModel], loc: _Loc) -> str:
    key = str(loc[-1])
    known = sorted({name for owner in _owners(model, loc[:-1]) for name in _keys(owner)})
    near = get_close_matches(key, known, n=1)
    if near:
        return f"unknown key {key!r}; did you mean {near[0]!r}?"
    return f"unknown key {key!r}; known are {', '.join(known)}"


def _keys(model: type[BaseModel]) -> Iterator[str]:
    """The keys as the document spells them."""
    for name, field in model.model_fields.items():
        alias = field.validation_alias
        first = alias.choices[0] if isinstance(alias, AliasChoices) else alias
        yield first if isinstance(first, str) else name


def _owners(model: type[BaseModel], loc: _Loc) -> list[type[BaseModel]]:
    """The models that may stand at `loc`; several where the type there is a union."""
    here: list[Any] = [model]
    for part in loc:
        reached = [inner for kind in here for inner in _step(kind, part)]
        here = reached or here
    return [kind for outer in here for kind in _models(outer)]


def _step(kind: Any, part: int | str) -> list[Any]:
    if get_origin(kind) in {Annotated, Union, UnionType}:
        return [inner for arg in get_args(kind) for inner in _step(arg, part)]
    found: list[Any] = []
    for model in _models(kind):
        field = model.model_fields.get(str(part))
        if field is not None:
            found.append(field.annotation)
    if get_origin(kind) in {tuple, list, dict}:
        found.extend(get_args(kind))
    return found


def _models(kind: Any) -> list[type[BaseModel]]:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return [kind]
    if get_origin(kind) in {tuple, list, dict}:
        return []
    return [model for arg in get_args(kind) for model in _models(arg)]
