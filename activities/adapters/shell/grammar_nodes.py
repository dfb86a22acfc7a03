"""The names of the grammar's nodes, and iteration over them."""

import functools
from collections.abc import Iterator

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from activities.adapters.shell.unreadable import UnreadableError

_ASCII = bytes(range(128)) + b"x" * 128
OPAQUE = frozenset({"string", "raw_string", "ansi_c_string", "regex", "comment", "word"})
"""Between the ends of these, blanks are text."""
SUBSTITUTIONS = frozenset({"command_substitution", "process_substitution"})
WORDS = frozenset({
    "word", "number", "string", "raw_string", "ansi_c_string", "translated_string",
    "concatenation", "simple_expansion", "expansion", "command_substitution",
    "process_substitution", "arithmetic_expansion", "brace_expression", "variable_name",
    "special_variable_name", "extglob_pattern", "regex", "test_operator", "array",
})  # fmt: skip
EXPANSIONS = SUBSTITUTIONS | {
    "arithmetic_expansion", "regex", "array", "brace_expression", "expansion", "extglob_pattern",
    "simple_expansion",
}  # fmt: skip


@functools.cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))


def read_tree(source: bytes) -> Node:
    """Return the root of a text's tree.

    For bash, each byte beyond ASCII is an ordinary letter, so the grammar gets letters in their
    place: its own tables do not cover all of Unicode, and crash the process on some characters.
    """
    return _parser().parse(source.translate(_ASCII)).root_node


def leaves(node: Node) -> Iterator[Node]:
    """Return the nodes that have text of their own, in order."""
    todo = [node]
    while todo:
        one = todo.pop()
        if one.type in OPAQUE or not one.child_count:
            if one.end_byte > one.start_byte:
                yield one
        else:
            todo.extend(reversed(one.children))


def operands(node: Node) -> Iterator[Node]:
    """Return the words of a test, without its operators."""
    for child in node.children:
        if child.type in WORDS:
            yield child
        elif child.is_named:
            yield from operands(child)


def is_word(node: Node) -> bool:
    """Tell whether a node may be a part of a word."""
    return node.type in WORDS or not node.is_named


def first_error(root: Node) -> UnreadableError:
    """Return the position of the first error in a tree that has one."""
    node = root
    while not (node.is_error or node.is_missing):
        below = next((child for child in node.children if child.has_error), None)
        if below is None:
            break
        node = below
    reason = "something is missing" if node.is_missing else "this is not read as bash"
    return UnreadableError(node.start_byte, reason)
