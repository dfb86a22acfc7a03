"""The repository in short, for planners and developers: layout, languages, checks, its own words.

What is not filled in worktrees (submodules, files under LFS) stands before the checks.

Pure, and the same bytes for the same tree and gates, whatever machine and order: it stands at the
front of prompts, where providers cache. All of it is data: what a repository's own documents say is
shown to agents and widens no permission. Contents are cut, never read for orders.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate

from activities.toolset.observations import harmless
from workflows.domain.gate import GateSpec
from workflows.policy.text.secret_patterns import without_secrets

BRIEF_CHARACTERS = 4_000
SAYING = ("AGENTS.md", "CLAUDE.md", "CONTRIBUTING.md", "README.md")
"""Documents at the root in which a repository speaks of itself; earlier ones are cut less."""

_SAYING_CHARACTERS = (1_500, 1_000, 700, 400)
_LAYOUT_CHARACTERS = 900
_UNFILLED_CHARACTERS = 500
_LANGUAGES = 6
_MANIFESTS = (
    "pyproject.toml",
    "setup.py",
    "package.json",
    "go.mod",
    "Cargo.toml",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "CMakeLists.txt",
    "Gemfile",
    "composer.json",
    "Makefile",
)
_NAMES = {
    "py": "Python",
    "pyi": "Python",
    "ts": "TypeScript",
    "tsx": "TypeScript",
    "js": "JavaScript",
    "jsx": "JavaScript",
    "mjs": "JavaScript",
    "go": "Go",
    "rs": "Rust",
    "java": "Java",
    "kt": "Kotlin",
    "rb": "Ruby",
    "php": "PHP",
    "c": "C",
    "h": "C or C++",
    "cc": "C++",
    "cpp": "C++",
    "hpp": "C++",
    "cs": "C#",
    "swift": "Swift",
    "scala": "Scala",
    "sh": "shell",
    "sql": "SQL",
    "html": "HTML",
    "css": "CSS",
    "md": "Markdown",
    "rst": "reStructuredText",
    "yaml": "YAML",
    "yml": "YAML",
    "json": "JSON",
    "toml": "TOML",
}


def brief_of(
    files: Mapping[str, bytes], gates: Sequence[GateSpec], unfilled: Sequence[str] = ()
) -> str:
    """Return the brief, at most `BRIEF_CHARACTERS` long.

    Args:
        files: every committed path with its bytes; only those named in `SAYING` are read.
        gates: the session's.
        unfilled: what is not in a worktree as it seems to be, one sentence each.
    """
    paths = sorted(files)
    lacking = [_cut("\n".join(unfilled), _UNFILLED_CHARACTERS)] if unfilled else []
    parts = [_layout(paths), _languages(paths), *lacking, _checks(paths, gates), *_sayings(files)]
    return harmless(_cut("\n\n".join(parts), BRIEF_CHARACTERS))


def _layout(paths: Sequence[str]) -> str:
    """Folders of two levels with their number of files, and the files at the top."""
    folders = Counter(f"{parts[0]}/" for path in paths if (parts := path.split("/"))[1:])
    below = Counter("/".join(parts[:2]) + "/" for path in paths if (parts := path.split("/"))[2:])
    shown = [f"{name} ({count})" for name, count in sorted((folders | below).items())]
    shown += [path for path in paths if "/" not in path]
    sizes = accumulate(len(name) + 2 for name in shown)
    kept = [name for name, size in zip(shown, sizes, strict=True) if size <= _LAYOUT_CHARACTERS]
    more = f", and {len(shown) - len(kept)} more entries" if len(kept) < len(shown) else ""
    return f"{len(paths)} files: {', '.join(kept)}{more}"


def _languages(paths: Iterable[str]) -> str:
    endings = (name.rpartition(".") for path in paths if (name := path.rpartition("/")[2]))
    found = Counter(
        _NAMES.get(ending.lower(), f".{ending}") for stem, _, ending in endings if stem and ending
    )
    common = sorted(found.items(), key=lambda each: (-each[1], each[0]))[:_LANGUAGES]
    return f"Languages: {', '.join(f'{name} ({count})' for name, count in common) or 'none'}"


def _checks(paths: Sequence[str], gates: Sequence[GateSpec]) -> str:
    there = [name for name in _MANIFESTS if name in paths]
    built = f"Built by: {', '.join(there)}\n" if there else ""
    if not gates:
        return f"{built}Checks: none are configured, and none were found."
    listed = "\n".join(f"- {gate.name}: {' '.join(gate.argv)}" for gate in gates)
    return f"{built}Checks that all work must pass:\n{listed}"


def _sayings(files: Mapping[str, bytes]) -> Iterator[str]:
    seen: set[bytes] = set()
    for name, limit in zip(SAYING, _SAYING_CHARACTERS, strict=True):
        content = files.get(name, b"").strip()
        if not content or content in seen or _names_another(content, files):
            continue
        seen.add(content)
        text = without_secrets(content.decode("utf-8", "replace")).replace("\r\n", "\n")
        cut = _cut(text, limit)
        more = "" if cut == text else f" begins (the whole has {len(text)} characters; read it)"
        yield f"{name}{more}:\n{cut}"


def _names_another(content: bytes, files: Mapping[str, bytes]) -> bool:
    """Say whether a document only points to another, as a link's content does in git."""
    pointed = content.removeprefix(b"@").removeprefix(b"./")
    return pointed.decode("utf-8", "replace") in files


def _cut(text: str, limit: int) -> str:
    """Cut at the end of a line where one is near, else anywhere."""
    if len(text) <= limit:
        return text
    kept = text[: limit - 2]
    whole = kept.rpartition("\n")[0]
    return f"{whole if len(whole) > limit // 2 else kept}\n…"
