"""What the grammar's nodes are called, and walking over them."""

import functools
from collections.abc import Iterator

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from activities.adapters.shell.unreadable import UnreadableError

OPAQUE = frozenset({"string", "raw_string", "ansi_c_string", "regex", "comment", "word"})
"""Between their ends, blanks are text."""
SUBSTITUTIONS = frozenset({"command_substitution", "process_substitution"})
WORDS = frozenset({
    "word", "number", "string", "raw_string", "ansi_c_string", "translated_string",
    "concatenation", "simple_expansion", "expansion", "command_substitution",
    "process_substitution", "arithmetic_expansion", "brace_expression", "variable_name",
    "special_variable_name", "extglob_pattern", "regex", "test_operator", "array",
})  # fmt: skip
EXPANSIONS = SUBSTITUTIONS | {
    "arithmetic_expansion", "array", "brace_expression", "expansion", "extglob_pattern",
    "simple_expansion",
}  # fmt: skip


@functools.cache
def parser() -> Parser:
    """Return the parser, made once."""
    return Parser(Language(tree_sitter_bash.language()))


def leaves(node: Node) -> Iterator[Node]:
    """Return what has text of its own, in order."""
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
    """Return where a tree with an error has its first one."""
    node = root
    while not (node.is_error or node.is_missing):
        below = next((child for child in node.children if child.has_error), None)
        if below is None:
            break
        node = below
    reason = "something is missing" if node.is_missing else "this is not read as bash"
    return UnreadableError(node.start_byte, reason)
