"""Whether an agent has a tool, and may run a shell command: judged on its tree, not its text.

Every program that would run is checked, however it is wrapped or quoted. A rule denies it, or it is
denied because it cannot be judged. Pure: the parser is passed in.
"""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final, assert_never

from workflows.domain.agent.shell_tree import Node, Parse, SimpleCommand, Unreadable, Word
from workflows.domain.agent.tool_policy import Denied, Standing
from workflows.policy.commands.builtin_rules import built_in_denial, environment_denial
from workflows.policy.commands.file_arguments import (
    MOST_PLACES,
    ROOT,
    Places,
    Touched,
    blocked_denial,
    is_in_worktree,
    moved,
    path_denial,
    touched,
)
from workflows.policy.commands.nested_scripts import ShellText, is_script_file
from workflows.policy.commands.patterns import may_fit, must_fit
from workflows.policy.commands.program_options import base_name, shown
from workflows.policy.commands.wrappers import Layer, Program, Setting, layers

MOST_TEXTS: Final = 8
"""How deep commands in texts may be nested."""
BUILTINS: Final = frozenset({
    ".", ":", "[", "[[", "((", "alias", "bg", "break", "builtin", "cd", "command", "continue",
    "declare", "dirs", "echo", "eval", "exec", "exit", "export", "false", "fg", "getopts",
    "hash", "jobs", "let", "local", "popd", "printf", "pushd", "pwd", "read", "readonly",
    "return", "set", "shift", "shopt", "source", "test", "times", "trap", "true", "type",
    "typeset", "ulimit", "umask", "unalias", "unset", "wait",
})  # fmt: skip
"""Allowed under every allow-list, because they start no other program."""


@dataclass(frozen=True)
class _Step:
    """One simple command, and where it would run."""

    command: SimpleCommand
    places: Places
    is_piped: bool = False


@dataclass(frozen=True)
class _Court:
    """What every step of a judgement needs to know."""

    standing: Standing
    parse: Parse
    depth: int = 0
    functions: frozenset[str] = field(default_factory=frozenset[str])


def tool_denial(tool: str, standing: Standing) -> Denied | None:
    """Deny a tool that the role does not have."""
    allowed = standing.rules.tools_of(standing.role)
    if tool in allowed:
        return None
    about = f"a {standing.role} has no tool {tool!r}"
    return Denied(rule="tools", about=about, instead=", ".join(allowed) or "handing in")


def command_denial(text: str, standing: Standing, parse: Parse, folder: str = "") -> Denied | None:
    """Return the first rule that a command breaks; None if it may run.

    Args:
        text: the text for bash.
        standing: whose call it is.
        parse: parses a text; a text that it cannot parse with certainty is denied.
        folder: where the command starts, relative to the worktree; empty for its root.
    """
    places = moved((ROOT,), Word(text=folder)) if folder else (ROOT,)
    return _text_denial(text, places, _Court(standing, parse))


def _text_denial(
    text: str, places: Places, court: _Court, *, is_piped: bool = False
) -> Denied | None:
    if court.depth > MOST_TEXTS:
        about = f"commands inside commands, more than {MOST_TEXTS} deep"
        return Denied(rule="hidden-program", about=about, instead="a plain command")
    tree = court.parse(text)
    if isinstance(tree, Unreadable):
        about = f"line {tree.line}, column {tree.column}: {tree.reason}"
        instead = "a command in plain bash; write long texts and programs to a file first"
        return Denied(rule="unreadable", about=about, instead=instead)
    court = replace(court, depth=court.depth + 1, functions=court.functions | _functions(tree))
    steps = _steps(tree, places, is_piped=is_piped)
    denials = (denied for step in steps for denied in _step_denials(step, court))
    return next((denied for denied in denials if denied is not None), None)


# --- the tree, in order ----------------------------------------------------------------------


def _steps(node: Node, places: Places, *, is_piped: bool = False) -> Generator[_Step, None, Places]:
    """Yield simple commands in the order in which they would run; return the final folders."""
    if isinstance(node, SimpleCommand):
        for group in node.inner:
            yield from _steps(group, places)
        yield _Step(node, places, is_piped)
        return _after(node, places)
    match node.kind:
        case "sequence":
            return (yield from _sequence(node.members, places, is_piped=is_piped))
        case "pipe":
            for place, member in enumerate(node.members):
                yield from _steps(member, places, is_piped=is_piped or place > 0)
            return places
        case "subshell" | "function":
            # A function's input is the input of whatever calls it.
            is_piped = is_piped or node.kind == "function"
            yield from _sequence(node.members, places, is_piped=is_piped)
            return places
        case "choice":
            ended = yield from _sequence(node.members, places, is_piped=is_piped)
            return _either(ended, places)
        case _:
            assert_never(node.kind)


def _sequence(
    members: Sequence[Node], places: Places, *, is_piped: bool
) -> Generator[_Step, None, Places]:
    for member in members:
        places = yield from _steps(member, places, is_piped=is_piped)
    return places


def _after(command: SimpleCommand, places: Places) -> Places:
    """Return where the next command runs: where `cd` leads or, if it fails, where it was."""
    words = command.words
    while words and words[0].text in {"builtin", "command"}:
        words = words[1:]
    if not words or words[0].text not in {"cd", "pushd", "popd"}:
        return places
    if words[0].text == "popd":
        return ()
    targets = [word for word in words[1:] if word.text == "-" or not word.text.startswith("-")]
    return _either(moved(places, targets[0] if targets else None), places)


def _either(first: Places, second: Places) -> Places:
    if not first or not second:
        return ()
    return tuple(dict.fromkeys((*first, *second)))[:MOST_PLACES]


def _functions(node: Node) -> frozenset[str]:
    if isinstance(node, SimpleCommand):
        return frozenset()
    own = {node.name} if node.kind == "function" else set[str]()
    return frozenset(own).union(*(_functions(member) for member in node.members))


# --- one command -----------------------------------------------------------------------------


def _step_denials(step: _Step, court: _Court) -> Iterator[Denied | None]:
    command = step.command
    for name in command.assigned:
        yield _lifted(environment_denial(name), court)
    for each in command.redirections:
        how = "write" if each.is_write else "read"
        yield path_denial(Touched(each.target, how), step.places, court.standing)
        yield blocked_denial((each.target, each.target), step.places, court.standing)
    if command.words:
        is_piped = _has_unknown_input(step)
        for layer in layers(command.words, command.stdin, is_piped=is_piped):
            yield from _layer_denials(layer, replace(step, is_piped=is_piped), court)


def _has_unknown_input(step: _Step) -> bool:
    """Tell whether a shell reads commands from an input that cannot be checked."""
    read = [each.target for each in step.command.redirections if not each.is_write]
    if not read:
        return step.is_piped
    return any(not is_script_file(target) for target in read)


def _layer_denials(layer: Layer, step: _Step, court: _Court) -> Iterator[Denied | None]:
    match layer:
        case Program():
            yield from _program_denials(layer, step.places, court)
        case Setting():
            yield _lifted(environment_denial(layer.name), court)
        case ShellText():
            has_input = step.is_piped or step.command.stdin is not None
            yield _text_denial(layer.text, step.places, court, is_piped=has_input)
        case Denied():
            yield layer
        case _:
            assert_never(layer)


def _lifted(denied: Denied | None, court: _Court) -> Denied | None:
    return None if denied and denied.rule in court.standing.rules.lift else denied


def _program_denials(program: Program, places: Places, court: _Court) -> Iterator[Denied | None]:
    standing, words = court.standing, program.words
    yield _denied_by_person(words, standing)
    places = _at(words, places)
    yield built_in_denial(words, standing.rules.lift, is_in_worktree=is_in_worktree(places))
    if not program.is_wrapper:
        yield _not_allowed(words, court)
    yield blocked_denial(words, places, standing)
    for file in touched(words):
        yield path_denial(file, places, standing)


def _at(words: Sequence[Word], places: Places) -> Places:
    """`git -C DIR` and `make -C DIR` work in another folder."""
    if base_name(words[0].text) in {"git", "make"}:
        for option, value in pairwise(words):
            if option.text == "-C":
                places = moved(places, value)
    return places


def _denied_by_person(words: Sequence[Word], standing: Standing) -> Denied | None:
    named = (Word(text=base_name(words[0].text)), *words[1:])
    for pattern in standing.rules.deny_commands:
        if may_fit(named, pattern) or may_fit(words, pattern):
            about = f"{shown(words)} is, or may be, what 'policy.deny_commands' names: {pattern!r}"
            return Denied(rule="deny-commands", about=about, instead="commands that no rule names")
    return None


def _not_allowed(words: Sequence[Word], court: _Court) -> Denied | None:
    allowed = court.standing.rules.allow_commands
    name = words[0].text
    if "*" in allowed or name in BUILTINS or name in court.functions:
        return None
    plain = words
    if name.rpartition("/")[0] in {"/bin", "/usr/bin", "/usr/local/bin"}:
        plain = (Word(text=name.rpartition("/")[2]), *words[1:])
    if any(must_fit(plain, pattern) for pattern in allowed):
        return None
    about = f"{shown(words)} is not among the commands that are allowed here"
    return Denied(rule="allow-commands", about=about, instead=", ".join(allowed[:12]) or "nothing")
