"""Parses words: what a program gets, what is unknown about it, and what runs inside it."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from itertools import pairwise

from tree_sitter import Node

from activities.adapters.shell import bash_words
from activities.adapters.shell.grammar_nodes import (
    EXPANSIONS,
    SUBSTITUTIONS,
    WORDS,
    is_word,
    leaves,
)
from activities.adapters.shell.unreadable import UnreadableError
from workflows.domain.agent.shell_tree import UNKNOWN, Group

_GAP = re.compile(rb"(?:[ \t\n]|\\\n)*")
_BLANKS = re.compile(rb"(?:[ \t]|\\\n)*")
_CONTINUED = re.compile(rb"(?:\\\n)*")
_TEXTS = frozenset({"ansi_c_string", "raw_string", "string", "word"})
_PROCESS = re.compile(r"[<>]\(")
_SUBSCRIPT = re.compile(r"\w\[[^\]]*(?:\$[({]|`)")
_RUNS = re.compile(r"\$[({]|`")


class WordReader(ABC):
    """Parses the words of one text; their substitutions go to the list that is passed in."""

    def __init__(self, source: bytes) -> None:
        self._source = source

    @abstractmethod
    def _substitution(self, node: Node) -> Group:
        """Parse the commands of `$(…)`, `` `…` ``, `<(…)` or `>(…)`."""

    def _account(self, node: Node, start: int) -> None:
        """Check that only blanks stand between the leaves of the tree."""
        end = start
        for leaf in leaves(node):
            if not _GAP.fullmatch(self._source, end, leaf.start_byte) or leaf.start_byte < end:
                raise UnreadableError(end, "a text that the grammar skips")
            end = leaf.end_byte
        if node.parent is None and not _GAP.fullmatch(self._source, end, len(self._source)):
            raise UnreadableError(end, "a text that the grammar skips")

    def _units(self, children: Sequence[Node]) -> Iterator[list[Node]]:
        """Join what bash takes as one word because no blank separates it."""
        unit: list[Node] = []
        for each in children:
            child = each.children[0] if each.type == "command_name" else each
            end = unit[-1].end_byte if unit else child.start_byte
            if not _BLANKS.fullmatch(self._source, end, child.start_byte):
                raise UnreadableError(end, "a line that ends inside a command")
            touches = unit and _CONTINUED.fullmatch(self._source, end, child.start_byte)
            if touches and child.type.endswith("_redirect") and self._is_descriptor(unit):
                unit = [child]
                continue
            if touches and not child.type.endswith("_redirect"):
                if not (is_word(unit[-1]) and is_word(child)):
                    raise UnreadableError(child.start_byte, "two things without a blank between")
                unit.append(child)
                continue
            if unit:
                yield unit
            unit = [child]
        if unit:
            yield unit

    def _is_whole(self, node: Node) -> bool:
        """Whether the parts of a node are adjacent, as bash requires."""
        return all(self._touch(before, after) for before, after in pairwise(node.children))

    def _touch(self, before: Node, after: Node) -> bool:
        return _CONTINUED.fullmatch(self._source, before.end_byte, after.start_byte) is not None

    def _is_descriptor(self, unit: Sequence[Node]) -> bool:
        """Whether a word before a redirection is its number, which the grammar may not see."""
        return len(unit) == 1 and unit[0].type == "number" and self._text(unit[0]).isdigit()

    def _joined(self, unit: Sequence[Node], inner: list[Group]) -> str:
        return "".join(self._expand(node, inner) for node in unit)

    def _expand(self, node: Node, inner: list[Group]) -> str:
        """Return a word with the marks of `bash_words`; substitutions in it go to `inner`."""
        match node.type:
            case "raw_string":
                return self._text(node)[1:-1]
            case "ansi_c_string":
                return bash_words.ansi_quoted(self._text(node)[2:-1], node.start_byte)
            case "string" | "translated_string":
                return self._double_quoted(node, inner)
            case "concatenation":
                return self._concatenated(node, inner)
            case _ if node.type in EXPANSIONS:
                return self._expansion(node, inner)
            case _:
                return bash_words.unquoted(self._literal(node), node.start_byte)

    def _literal(self, node: Node) -> str:
        """Return raw text without the `$` of a string after it, which stays as it is."""
        text = self._text(node)
        if text.endswith("$") and not text.endswith("\\$"):
            behind = self._source[node.end_byte : node.end_byte + 1]
            if behind == b"'":
                raise UnreadableError(node.start_byte, '"$\'" inside a word')
            return text.removesuffix("$") if behind == b'"' else text
        return text

    def _concatenated(self, node: Node, inner: list[Group]) -> str:
        units = list(self._units(node.children))
        if len(units) != 1:
            raise UnreadableError(node.start_byte, "a word with blanks in it")
        return self._joined(units[0], inner)

    def _expansion(self, node: Node, inner: list[Group]) -> str:
        if node.type in SUBSTITUTIONS:
            inner.append(self._substitution(node))
        elif node.type == "array":
            self._elements(node, inner)
        else:
            inner.extend(self._inner(node))
        if self._stands_apart(node):
            raise UnreadableError(node.start_byte, "a '$' with blanks behind it")
        if node.type == "regex" and _PROCESS.search(self._text(node)):
            raise UnreadableError(node.start_byte, "'<(' inside a pattern")
        if node.type == "expansion" and "@P" in self._text(node):
            raise UnreadableError(node.start_byte, "an expansion that is expanded again")
        return UNKNOWN if node.type == "process_substitution" else UNKNOWN + bash_words.MANY

    def _elements(self, array: Node, inner: list[Group]) -> None:
        """Parse an array's elements: words like others, unless a subscript precedes one."""
        elements = [child for child in array.children if child.type in WORDS]
        for before, element in zip([None, *elements], elements, strict=False):
            if before is not None and self._touch(before, element):
                raise UnreadableError(element.start_byte, "two things without a blank between")
            if self._text(element).startswith("["):
                inner.extend(self._found(element))
            else:
                self._value(element, inner)

    def _value(self, node: Node, inner: list[Group]) -> None:
        """Parse the value of a variable."""
        values = bash_words.expanded(self._expand(node, inner))
        if any(_SUBSCRIPT.search(value.text) for value in values):
            reason = "a value that runs commands where it is taken for a number"
            raise UnreadableError(node.start_byte, reason)

    def _stands_apart(self, node: Node) -> bool:
        """Whether a `$` belongs to no expansion: the grammar skips blanks between it and a name."""
        return node.type == "simple_expansion" and len(self._text(node).split()) > 1

    def _double_quoted(self, node: Node, inner: list[Group]) -> str:
        """Between the quotes, everything except expansions is text, blanks included."""
        start = self._source.index(b'"', node.start_byte) + 1
        parts: list[str] = []
        for child in node.children:
            if child.type == "string":
                return self._double_quoted(child, inner)
            if child.type not in WORDS or child.type == "word" or self._stands_apart(child):
                continue
            parts.append(self._between(start, child.start_byte))
            marked = self._expand(child, inner)
            is_list = "@" in self._text(child)
            parts.append(marked if is_list else marked.replace(bash_words.MANY, ""))
            start = child.end_byte
        parts.append(self._between(start, node.end_byte - 1))
        return "".join(parts)

    def _between(self, start: int, end: int) -> str:
        return bash_words.double_quoted(self._source[start:end].decode("utf-8", "replace"), start)

    def _inner(self, node: Node) -> Iterator[Group]:
        """Find the substitutions below a node."""
        for child in node.children:
            yield from self._found(child)

    def _found(self, node: Node) -> Iterator[Group]:
        """Find the substitutions in a node, itself included."""
        if node.type in SUBSTITUTIONS:
            yield self._substitution(node)
        elif node.type in _TEXTS:
            found: list[Group] = []
            self._only_text(self._expand(node, found), node)
            yield from found
        else:
            yield from self._inner(node)

    def _only_text(self, text: str, node: Node) -> None:
        """Reject substitutions in quotes inside an expansion, which may be parsed again."""
        if _RUNS.search(text):
            raise UnreadableError(node.start_byte, "a substitution in quotes inside an expansion")

    def _text(self, node: Node) -> str:
        return self._source[node.start_byte : node.end_byte].decode("utf-8", "replace")
