"""Finds the commands in a project's CI files that look like tests.

A person compares them with a proposal; no command is run, and none becomes a gate by itself.
"""

import re
from collections.abc import Iterator

from activities.projects.manifests import Files, text

MAX_COMMANDS = 8
_PATHS = re.compile(
    r"(?:\.github/workflows/[^/]+\.ya?ml|\.gitlab-ci\.yml|\.circleci/config\.yml|\.travis\.yml"
    r"|azure-pipelines\.yml|\.woodpecker(?:/[^/]+)?\.ya?ml|bitbucket-pipelines\.yml)\Z"
)
_TESTS = re.compile(
    r"(?:^|[\s;&|/])(?:pytest|py\.test|tox|nox|unittest|jest|vitest|mocha|rspec|phpunit|ctest"
    r"|(?:npm|pnpm|yarn|bun)(?: run)? test\S*|cargo (?:test|nextest|clippy)|go (?:test|vet)"
    r"|mvnw? \S*\s*(?:test|verify)|gradlew? \S*\s*(?:test|check)|mix test|make (?:test|check)\S*"
    r"|just (?:test|check)\S*|task (?:test|check)\S*|rake test|ruff|mypy|pyright|eslint|tsc)\b"
)
_KEY = re.compile(r"^\s*(?:-\s+)?(?:(?:run|script|command):\s*)?(?:-\s+)?[|>]?[-+]?\s*")
_NO_COMMAND = re.compile(r"[\w-]+:(?:\s|$)|[A-Z][a-z]+\s")
"""Another key of the file, or a sentence."""
_LONGEST = 160


def is_read(path: str) -> bool:
    """Say whether a file's content is needed."""
    return _PATHS.match(path) is not None


def ci_commands(files: Files) -> tuple[str, ...]:
    """Return the lines of CI files that run tests or checks, each once, at most eight."""
    found = dict.fromkeys(line for path in sorted(files) for line in _lines(files, path))
    return tuple(found)[:MAX_COMMANDS]


def _lines(files: Files, path: str) -> Iterator[str]:
    if not is_read(path):
        return
    for line in text(files, path).splitlines():
        said = _KEY.sub("", line).strip().strip("'\"")
        is_other = not said or said.startswith("#") or _NO_COMMAND.match(said) is not None
        if not is_other and len(said) <= _LONGEST and said.isprintable() and _TESTS.search(said):
            yield said
