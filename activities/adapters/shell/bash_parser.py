"""The adapter of tree-sitter-bash: text → neutral tree, or unreadable if there is any doubt.

The grammar is not bash's own. So its tree is accepted only if every byte is accounted for and no
literal holds anything that looks like an expansion; all other text is unreadable.
"""

import re
from collections.abc import Iterator, Sequence

from tree_sitter import Node

from activities.adapters.shell import bash_words
from activities.adapters.shell.grammar_nodes import (
    OPAQUE,
    WORDS,
    first_error,
    is_word,
    operands,
    read_tree,
)
from activities.adapters.shell.here_documents import HereDocument, take_out
from activities.adapters.shell.unreadable import UnreadableError
from activities.adapters.shell.word_expansions import WordReader
from workflows.domain.agent.shell_tree import (
    UNKNOWN,
    Group,
    Redirection,
    SimpleCommand,
    Unreadable,
    Word,
)
from workflows.domain.agent.shell_tree import Node as Tree

MOST_CHARACTERS = 20_000
"""Without here-documents; parsing takes up to 0.1 s for the worst texts of this length."""
MOST_HERE_CHARACTERS = 1_000_000
_MOST_DEPTH = 40

_READS, _WRITES = frozenset({"<"}), frozenset({">", ">>", ">|", "&>", "&>>", ">&"})
_BACKTICK_ESCAPE = re.compile(r"\\([$`\\])")
_BODY_EXPANSION = re.compile(r"\\.|(?P<tick>`)|(?P<dollar>\$[({])", re.DOTALL)


def parse(text: str) -> Group | Unreadable:
    """Parse a text as bash would.

    Args:
        text: a command line or script.

    Returns:
        Its commands, or where and why it cannot be parsed with certainty.
    """
    # First of all, because a lone surrogate cannot be encoded.
    if found := bash_words.FORBIDDEN.search(text):
        before = text[: found.start()]
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        return Unreadable(line=line, column=column, reason=f"the character {found[0]!a}")
    shortened = take_out(text)
    source = shortened.text.encode("utf-8")
    try:
        _check_length(text, shortened.text)
        return _Reader(source, shortened.documents).program()
    except UnreadableError as error:
        before = source[: error.offset]
        taken_out = (d for d in shortened.documents if d.line_end < error.offset)
        line = before.count(b"\n") + 1 + sum(d.text.count("\n") + 1 for d in taken_out)
        column = len(before.rpartition(b"\n")[2].decode("utf-8", "replace")) + 1
        return Unreadable(line=line, column=column, reason=error.reason)


def _check_length(text: str, shortened: str) -> None:
    if len(shortened) > MOST_CHARACTERS or len(text) > MOST_HERE_CHARACTERS:
        raise UnreadableError(0, f"it is longer than {MOST_CHARACTERS} characters")


class _Reader(WordReader):
    """Parses the statements of one text."""

    def __init__(
        self, source: bytes, documents: Sequence[HereDocument] = (), depth: int = 0
    ) -> None:
        super().__init__(source)
        self._documents = {document.at: document for document in documents}
        self._ends = [document.line_end for document in documents]
        self._depth = depth

    def program(self) -> Group:
        root = read_tree(self._source)
        if root.has_error:
            raise first_error(root)
        self._account(root, 0)
        for end in self._ends:
            leaf = root.descendant_for_byte_range(end, end + 1)
            if self._source[end - 1 : end] == b"\\" or (leaf is not None and leaf.type in OPAQUE):
                raise UnreadableError(end, "a here-document inside quotes or a continued line")
        group = Group(kind="sequence", members=tuple(self._statements(root)))
        if self._documents:
            at = next(iter(self._documents))
            raise UnreadableError(at, "'<<' where it is not a here-document")
        return group

    # --- statements --------------------------------------------------------------------------

    def _statements(self, node: Node, left_out: Sequence[Node] = ()) -> Iterator[Tree]:
        self._deeper(node)
        for child in node.children:
            if child not in left_out:
                yield from self._statement(child)
        self._depth -= 1

    def _statement(self, node: Node) -> Iterator[Tree]:
        if not node.is_named or node.type in {"comment", "heredoc_body"}:
            return
        if node.type in WORDS:
            yield from self._only_inner(node)
        elif (read := getattr(self, f"_{node.type}", None)) is not None:
            yield read(node)
        else:
            raise UnreadableError(node.start_byte, f"{node.type.replace('_', ' ')} here")

    def _group(self, node: Node) -> Group:
        return Group(kind="sequence", members=tuple(self._statements(node)))

    def _choice(self, node: Node) -> Group:
        return Group(kind="choice", members=tuple(self._statements(node)))

    _if_statement = _elif_clause = _else_clause = _while_statement = _for_statement = _choice
    _case_statement = _case_item = _choice
    _do_group = _variable_assignments = _group

    def _c_style_for_statement(self, node: Node) -> Group:
        """Only what the three expressions run counts."""
        body = node.child_by_field_name("body")
        inner = [group for child in node.children if child != body for group in self._found(child)]
        statements = self._statement(body) if body is not None else ()
        return Group(kind="choice", members=(*inner, *statements))

    def _subshell(self, node: Node) -> Group:
        return Group(kind="subshell", members=tuple(self._statements(node)))

    def _pipeline(self, node: Node, redirects: Sequence[Node] = ()) -> Group:
        return Group(kind="pipe", members=tuple(self._parts(node, redirects)))

    def _negated_command(self, node: Node, redirects: Sequence[Node] = ()) -> Group:
        return Group(kind="sequence", members=tuple(self._parts(node, redirects)))

    def _compound_statement(self, node: Node) -> Tree:
        if node.children and node.children[0].type == "((":
            return self._arithmetic(node)
        return self._group(node)

    def _list(self, node: Node, redirects: Sequence[Node] = ()) -> Group:
        """Commands after `&&` or `||` may not run."""
        first, *rest = self._parts(node, redirects)
        choices = (Group(kind="choice", members=(each,)) for each in rest)
        return Group(kind="sequence", members=(first, *choices))

    def _parts(self, node: Node, redirects: Sequence[Node]) -> Iterator[Tree]:
        """Parse statements; for bash, the last one has the redirections of all."""
        named = [child for child in node.children if child.is_named and child.type != "comment"]
        self._deeper(node)
        for child in named[:-1]:
            yield from self._statement(child)
        if redirects:
            yield self._with_redirects(named[-1], redirects)
        else:
            yield from self._statement(named[-1])
        self._depth -= 1

    def _deeper(self, node: Node) -> None:
        self._depth += 1
        if self._depth > _MOST_DEPTH:
            raise UnreadableError(node.start_byte, f"nested deeper than {_MOST_DEPTH}")

    def _function_definition(self, node: Node) -> Group:
        name = node.child_by_field_name("name")
        body = node.child_by_field_name("body")
        if name is None or body is None:
            raise UnreadableError(node.start_byte, "a function without name or body")
        redirects = [child for child in node.children if child.type.endswith("redirect")]
        members = (*self._statement(body), *self._redirected(redirects))
        return Group(kind="function", name=self._text(name), members=members)

    def _redirected(self, redirects: Sequence[Node]) -> Iterator[Tree]:
        if redirects:
            yield self._simple(redirects)

    def _redirected_statement(self, node: Node) -> Tree:
        body = node.child_by_field_name("body")
        redirects = [child for child in node.children if child != body]
        if body is None:
            return self._simple(redirects)
        return self._with_redirects(body, redirects)

    def _with_redirects(self, body: Node, redirects: Sequence[Node]) -> Tree:
        match body.type:
            case "command":
                return self._simple([*body.children, *redirects])
            case "list":
                return self._list(body, redirects)
            case "pipeline":
                return self._pipeline(body, redirects)
            case "negated_command":
                return self._negated_command(body, redirects)
            case _:
                return self._redirected_group(body, redirects)

    def _redirected_group(self, body: Node, redirects: Sequence[Node]) -> Group:
        before = self._simple(redirects)
        if before.words:
            raise UnreadableError(body.start_byte, "words behind a redirection of a group")
        has_input = before.stdin is not None or any(not r.is_write for r in before.redirections)
        members = (before, *self._statement(body))
        return Group(kind="pipe" if has_input else "sequence", members=members)

    # --- simple commands ---------------------------------------------------------------------

    def _command(self, node: Node) -> SimpleCommand:
        return self._simple(node.children)

    def _declaration_command(self, node: Node) -> SimpleCommand:
        return self._simple(node.children)

    _unset_command = _declaration_command

    def _variable_assignment(self, node: Node) -> SimpleCommand:
        return self._simple([node])

    def _test_command(self, node: Node) -> SimpleCommand:
        inner: list[Group] = []
        found = [Word(text=self._text(node.children[0]))]
        for child in operands(node):
            found.extend(bash_words.expanded(self._expand(child, inner)))
        return SimpleCommand(words=tuple(found), inner=tuple(inner))

    def _arithmetic(self, node: Node) -> SimpleCommand:
        return SimpleCommand(words=(Word(text="(("),), inner=tuple(self._inner(node)))

    def _only_inner(self, node: Node) -> Iterator[SimpleCommand]:
        """A word that no program gets, as the list of `for`; only what it runs counts."""
        inner: list[Group] = []
        self._expand(node, inner)
        if inner:
            yield SimpleCommand(inner=tuple(inner))

    def _simple(self, children: Sequence[Node]) -> SimpleCommand:
        """Build a command from assignments, words and redirections in any order."""
        parts = _Assembly()
        for unit in self._units(children):
            first = unit[0]
            if first.type == "variable_assignment":
                self._assign(first, parts)
            elif first.type.endswith("_redirect"):
                self._redirect(first, parts)
            else:
                parts.words.extend(bash_words.expanded(self._joined(unit, parts.inner)))
        return SimpleCommand(
            words=tuple(parts.words),
            assigned=tuple(parts.assigned),
            redirections=tuple(parts.redirections),
            stdin=parts.stdin,
            inner=tuple(parts.inner),
        )

    def _assign(self, node: Node, parts: "_Assembly") -> None:
        name = node.child_by_field_name("name")
        if name is None:
            raise UnreadableError(node.start_byte, "an assignment without a name")
        if not self._text(name).isascii():
            raise UnreadableError(node.start_byte, "a variable with a name that bash does not take")
        if not self._is_whole(node):
            raise UnreadableError(node.start_byte, "an assignment with blanks in it")
        parts.assigned.append(self._text(name).partition("[")[0])
        for child in node.children:
            if child.type in WORDS and child != name:
                self._value(child, parts.inner)
            elif child.type == "subscript":
                parts.inner.extend(self._inner(child))

    def _redirect(self, node: Node, parts: "_Assembly") -> None:
        operator = next((c.type for c in node.children if not c.is_named), "")
        targets = [child for child in node.children if is_word(child) and child.is_named]
        targets = [child for child in targets if child.type != "file_descriptor"]
        if targets and b"\n" in self._source[node.start_byte : targets[0].start_byte]:
            raise UnreadableError(node.start_byte, "a line that ends inside a redirection")
        if operator == "<<<" and len(targets) == 1:
            (parts.stdin,) = bash_words.expanded(self._expand(targets[0], parts.inner))[:1]
            return
        if node.type != "file_redirect":
            raise UnreadableError(node.start_byte, "a here-document that is written unusually")
        units = list(self._units(targets))
        if not units:
            if operator in {"<&-", ">&-"}:
                return
            raise UnreadableError(node.start_byte, "a redirection to nothing")
        document = self._documents.pop(units[0][0].start_byte, None)
        if document is not None and operator == "<":
            parts.stdin = self._here(document, parts.inner)
        else:
            self._redirect_file(operator, units[0], parts)
        for unit in units[1:]:
            parts.words.extend(bash_words.expanded(self._joined(unit, parts.inner)))

    def _redirect_file(self, operator: str, unit: list[Node], parts: "_Assembly") -> None:
        targets = bash_words.expanded(self._joined(unit, parts.inner))
        if operator in {">&", "<&"} and targets[0].text.rstrip("-").isdigit():
            return
        if operator not in _READS | _WRITES | {"<&"}:
            raise UnreadableError(unit[0].start_byte, f"the redirection {operator!r}")
        for target in targets:
            parts.redirections.append(Redirection(is_write=operator in _WRITES, target=target))

    def _here(self, document: HereDocument, inner: list[Group]) -> Word:
        if document.is_plain:
            return Word(text=document.text)
        text = document.text
        place = 0
        while (match := _BODY_EXPANSION.search(text, place)) is not None:
            place = match.end()
            if match["tick"]:
                end = _closing_tick(text, place)
                if end is None:
                    raise UnreadableError(
                        document.at, "a backtick in a here-document: quote its word"
                    )
                inner.append(self._below(_BACKTICK_ESCAPE.sub(r"\1", text[place:end])))
                place = end + 1
            elif match["dollar"]:
                place = self._here_expansion(text, match.start(), document, inner)
        return Word(text=UNKNOWN)

    def _here_expansion(
        self, text: str, start: int, document: HereDocument, inner: list[Group]
    ) -> int:
        """Parse one `$(…)` or `${…}` of a here-document; return where it ends."""
        source = text[start:].encode("utf-8", "replace")
        root = read_tree(source)
        node = root.descendant_for_byte_range(0, 2)
        while node is not None and node.parent is not None and node.type not in WORDS:
            node = node.parent
        if node is None or node.type not in WORDS or node.start_byte or node.has_error:
            raise UnreadableError(document.at, "an expansion in a here-document: quote its word")
        piece = source[: node.end_byte]
        group = _Reader(b": " + piece, depth=self._depth + 1).program()
        inner.append(group)
        return start + len(piece.decode("utf-8", "replace"))

    def _below(self, text: str) -> Group:
        if self._depth > _MOST_DEPTH:
            raise UnreadableError(0, f"nested deeper than {_MOST_DEPTH}")
        shortened = take_out(text)
        reader = _Reader(
            shortened.text.encode("utf-8", "replace"), shortened.documents, self._depth + 1
        )
        return Group(kind="subshell", members=(reader.program(),))

    def _substitution(self, node: Node) -> Group:
        self._account(node, node.start_byte)
        opener = self._text(node.children[0])
        if opener == "`" and any(node.start_byte < at < node.end_byte for at in self._documents):
            # Bash removes a backslash in it before it looks for expansions.
            raise UnreadableError(node.start_byte, "a here-document inside backquotes: use '$('")
        if opener == "`" and b"\\" in self._source[node.start_byte : node.end_byte]:
            raw = self._text(node)[1:-1]
            return self._below(_BACKTICK_ESCAPE.sub(r"\1", raw))
        redirects = [child for child in node.children if child.type == "file_redirect"]
        members = (*self._redirected(redirects), *self._statements(node, redirects))
        if opener == ">(":
            return Group(kind="pipe", members=(SimpleCommand(), *members))
        return Group(kind="subshell", members=members)


class _Assembly:
    """The parts of a simple command."""

    def __init__(self) -> None:
        self.words: list[Word] = []
        self.assigned: list[str] = []
        self.redirections: list[Redirection] = []
        self.stdin: Word | None = None
        self.inner: list[Group] = []


def _closing_tick(text: str, start: int) -> int | None:
    found = re.compile(r"(?:[^\\`]|\\.)*`", re.DOTALL).match(text, start)
    return found.end() - 1 if found else None
