"""One YAML document as plain data, and where each of its keys and values stands.

The dialect of every file that a person writes: YAML 1.2 in which doubled keys, merge keys, foreign
tags, unquoted dates, numbers with a leading zero, NaN and infinities are refused. Aliases are
allowed but counted, so that an alias bomb is refused before it unfolds. It knows no model, and
reads no file.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, Protocol

from pydantic import JsonValue

from activities.yaml_documents.value_wording import brief, syntax

if TYPE_CHECKING:
    from ruamel.yaml import YAMLError

MAX_NODES: Final = 200_000
MAX_DEPTH: Final = 200

Loc = tuple[int | str, ...]
Places = Mapping[Loc, tuple[int, int]]
"""Line and column, from 1, of each key (or item) by its path."""

_TAG = "tag:yaml.org,2002:"
_SCALARS = frozenset({"str", "int", "float", "bool", "null", "timestamp"})
_NAMES = _SCALARS - {"null", "timestamp"}
"""Of a key: numbers and `true` are taken as the text that stands there."""
_TOO_LARGE = "too large or too deep once its aliases are unfolded; write less, without aliases"
_LEADING_ZERO = re.compile(r"[-+]?0[0-9_]+")


class DocumentError(ValueError):
    """The document is not what it should be; the message names file, line, column and remedy."""


class _Mark(Protocol):
    line: int
    column: int


class _Scalar(Protocol):
    """A node of the composed text, as far as it is used here (the library has no types)."""

    id: Literal["scalar"]
    tag: str | None
    value: str
    start_mark: _Mark


class _Sequence(Protocol):
    id: Literal["sequence"]
    tag: str | None
    value: "list[_Node]"
    start_mark: _Mark


class _Mapping(Protocol):
    id: Literal["mapping"]
    tag: str | None
    value: "list[tuple[_Node, _Node]]"
    start_mark: _Mark


_Node = _Scalar | _Sequence | _Mapping


class _Event(Protocol):
    start_mark: _Mark


class Source:
    """One document: its data, and where each of its keys and values stands."""

    def __init__(self, name: str, *, keeps_halves: bool = False) -> None:
        """Args: how messages call it; whether a value may hold half of a surrogate pair."""
        self._name = name
        self._keeps_halves = keeps_halves
        self._nodes = 0
        self._marks: dict[Loc, tuple[int, int]] = {}
        self._scalar: Callable[[_Scalar], int | float | bool | None]

    @property
    def places(self) -> Places:
        """Where everything stands that was read."""
        return self._marks

    def read(self, text: str) -> JsonValue:
        """Read the one document of a text; None where it holds nothing.

        Raises:
            DocumentError: it is not YAML, or outside of the dialect.
        """
        from ruamel.yaml import YAML, YAMLError

        yaml = YAML(typ="safe", pure=True)
        yaml.composer.warn_double_anchors = False  # YAML allows it: the last one before holds
        try:
            root: _Node | None = yaml.compose(text)
            self._scalar = partial(yaml.constructor.construct_object, deep=True)
            return None if root is None else self._value(root, ())
        except YAMLError as error:
            raise self._syntax(error, text) from None
        except RecursionError:
            raise self._too_deep(text) from None

    def known(self, loc: Loc) -> Loc:
        """Return the longest part of `loc` that stands in the text (unions add to it)."""
        known: Loc = ()
        for part in loc:
            if (*known, part) in self._marks:
                known = (*known, part)
        return known

    def place(self, loc: Loc) -> str:
        """Return `name:line:column` of what stands at `loc`."""
        line, column = self._marks.get(self.known(loc), (1, 1))
        return f"{self._name}:{line}:{column}"

    def _value(self, node: _Node, loc: Loc) -> JsonValue:
        self._nodes += 1
        if self._nodes > MAX_NODES or len(loc) > MAX_DEPTH:
            raise self._error(node, _TOO_LARGE)
        self._marks.setdefault(loc, (node.start_mark.line + 1, node.start_mark.column + 1))
        kind = node.tag.removeprefix(_TAG) if node.tag else ""
        # By its shape and not by its tag alone: `!!map text` is a text.
        if node.id == "mapping" and kind == "map":
            return {key: self._value(item, (*loc, key)) for key, item in self._pairs(node, loc)}
        if node.id == "sequence" and kind == "seq":
            return [self._value(item, (*loc, index)) for index, item in enumerate(node.value)]
        if node.id != "scalar" or kind not in _SCALARS:
            raise self._error(node, f"the tag {brief(node.tag)} is not allowed here; remove it")
        return self._leaf(node, kind)

    def _pairs(self, node: _Mapping, loc: Loc) -> Iterator[tuple[str, _Node]]:
        seen: set[str] = set()
        for key, item in node.value:
            name = self._key(key)
            if name in seen:
                raise self._error(key, f"the key {brief(name)} stands twice; remove one")
            seen.add(name)
            self._marks[(*loc, name)] = (key.start_mark.line + 1, key.start_mark.column + 1)
            yield name, item

    def _key(self, key: _Node) -> str:
        if key.id != "scalar":
            raise self._error(key, "a key must be plain text")
        if key.tag == f"{_TAG}merge":
            raise self._error(key, "merge keys ('<<') are not read; write the keys out")
        if not key.value:
            raise self._error(key, "a key without a name; write 'name: value'")
        if (key.tag or "").removeprefix(_TAG) not in _NAMES:
            raise self._error(key, f"put {brief(key.value)} in quotes: a key must be plain text")
        return self._whole_text(key)

    def _leaf(self, node: _Scalar, kind: str) -> JsonValue:
        if kind == "str":
            return self._text(node) if self._keeps_halves else self._whole_text(node)
        if kind == "timestamp":
            raise self._error(
                node, f"put {brief(node.value)} in quotes: an unquoted date is not a text"
            )
        if kind == "int" and _LEADING_ZERO.fullmatch(node.value):
            raise self._error(
                node,
                f"{brief(node.value)} begins with 0, which some read as octal; write the number "
                "without it, or put a text in quotes",
            )
        value = self._number(node, kind)
        if isinstance(value, float) and not math.isfinite(value):
            raise self._error(node, f"{node.value} is not a finite number")
        return value

    def _number(self, node: _Scalar, kind: str) -> int | float | bool | None:
        try:
            return self._scalar(node)
        except (ArithmeticError, LookupError, ValueError):  # of a tag that does not fit the text
            raise self._error(
                node, f"{brief(node.value)} cannot be read as {kind}; put a text in quotes"
            ) from None

    def _text(self, node: _Scalar) -> str:
        """Return a text; what JSON writes as two halves of a character is one."""
        halves = str(node.value).encode("utf-16-le", "surrogatepass")
        return halves.decode("utf-16-le", "surrogatepass")

    def _whole_text(self, node: _Scalar) -> str:
        text = self._text(node)
        try:
            text.encode()
        except UnicodeEncodeError:
            raise self._error(node, "half of a character ('\\ud…'); write the whole") from None
        return text

    def _error(self, node: _Node, message: str) -> DocumentError:
        mark = node.start_mark
        return DocumentError(f"{self._name}:{mark.line + 1}:{mark.column + 1}: {message}")

    def _too_deep(self, text: str) -> DocumentError:
        from ruamel.yaml import YAML

        depth, mark = 0, None
        # Events come one by one, without recursion: they tell where it went too deep.
        events: Iterator[_Event] = YAML(typ="safe", pure=True).parse(text)
        for event in events:
            name = type(event).__name__
            depth += name.endswith("StartEvent") - name.endswith("EndEvent")
            if depth > MAX_DEPTH:
                mark = event.start_mark
                break
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        return DocumentError(
            f"{self._name}:{line}:{column}: nested deeper than {MAX_DEPTH}; write it flatter"
        )

    def _syntax(self, error: "YAMLError", text: str) -> DocumentError:
        about = vars(error)
        mark: _Mark | None = about.get("problem_mark")
        if mark is not None:
            problem = str(about["problem"] or about["context"] or "no YAML")
            line, column = mark.line + 1, mark.column + 1
        else:  # of the reader: it knows a position only
            character: int | str = about["character"]
            code = character if isinstance(character, int) else ord(character)
            problem = f"the character U+{code:04X} is not allowed"
            before = text[: about["position"]]
            line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        return DocumentError(f"{self._name}:{line}:{column}: {syntax(problem)}")
