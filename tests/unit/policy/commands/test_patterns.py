"""Patterns of commands: what is refused as one; fitting is in the tables of `test_commands`."""

import pytest

from workflows.domain.agent.shell_tree import UNKNOWN, Word
from workflows.policy.commands.patterns import may_fit, must_fit, pattern_fault


@pytest.mark.parametrize("pattern", ["*", "ls", "git log *", "npm run test:*", "make -C src"])
def test_plain_words_are_a_pattern(pattern: str):
    assert pattern_fault(pattern) is None


@pytest.mark.parametrize(
    ("pattern", "part"),
    [(" ", "it is empty"), ("a && b", "shell syntax"), ("echo 'x'", "shell syntax")],
)
def test_what_is_no_pattern_is_refused_with_a_reason(pattern: str, part: str):
    assert part in (pattern_fault(pattern) or "")


def words(*texts: str) -> tuple[Word, ...]:
    return tuple(Word(text=text, is_glob="*" in text, is_many=text == UNKNOWN) for text in texts)


@pytest.mark.parametrize(
    ("texts", "pattern", "must", "may"),
    [
        (("git", "log"), "git log", True, True),
        (("git", "log", "-1"), "git log", False, True),
        (("git",), "git *", True, True),
        (("git",), "git log", False, False),
        (("git", "lo*"), "git log", False, True),
        (("git", "*x"), "git log", False, True),
        (("git", "la*"), "git log", False, False),
        (("git", f"l{UNKNOWN}"), "git log", False, True),
        (("git", f"x{UNKNOWN}"), "git log", False, False),
        (("git", UNKNOWN), "git log x", False, True),
        (("git", UNKNOWN, "x"), "git x", False, True),
        (("git", "-C", "a", "log"), "git log", False, True),
        (("git", "-C=a", "a", "log"), "git log", False, False),
        (("npm", "run", "release:all"), "npm run release*", True, True),
        (("rm", "-r", "x"), "rm -r", False, True),
        (("rm", "x"), "rm -r", False, False),
        (("git", "a", "b"), "git ? b", True, True),
    ],
)
def test_must_and_may(texts: tuple[str, ...], pattern: str, *, must: bool, may: bool):
    assert must_fit(words(*texts), pattern) is must
    assert may_fit(words(*texts), pattern) is may
