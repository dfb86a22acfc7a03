"""The repository in short, for a planner: layout, languages, checks, and what it says of itself."""

from collections import Counter
from collections.abc import Mapping, Sequence

from activities.redaction import redact
from workflows.domain.gate import GateSpec

_BRIEF_CHARACTERS = 6_000
_SAYS_CHARACTERS = 1_500
_SAYING = ("AGENTS.md", "CLAUDE.md", "CONTRIBUTING.md", "README.md")
_ENTRIES = 60
_LANGUAGES = 8


def brief_of(files: Mapping[str, bytes], gates: Sequence[GateSpec]) -> str:
    """Return the brief, at most 6,000 characters.

    Args:
        files: every committed path with its bytes; only those named in `_SAYING` are read.
        gates: the session's.
    """
    parts = [
        f"{len(files)} files. At the top: {', '.join(_top(files))}",
        f"File types: {_types(files)}",
        "Checks:\n" + "\n".join(f"- {gate.name}: {' '.join(gate.argv)}" for gate in gates),
        *(
            f"{name} begins:\n{files[name].decode('utf-8', 'replace')[:_SAYS_CHARACTERS]}"
            for name in _SAYING
            if files.get(name)
        ),
    ]
    return redact("\n\n".join(parts))[:_BRIEF_CHARACTERS]


def _top(files: Mapping[str, bytes]) -> list[str]:
    counts = Counter(path.split("/")[0] + ("/" if "/" in path else "") for path in files)
    names = [f"{name} ({n})" if name.endswith("/") else name for name, n in sorted(counts.items())]
    return names[:_ENTRIES]


def _types(files: Mapping[str, bytes]) -> str:
    endings = Counter(path.rsplit(".", 1)[-1] for path in files if "." in path.split("/")[-1])
    common = endings.most_common(_LANGUAGES)
    return ", ".join(f".{ending} ({count})" for ending, count in common) or "none"
