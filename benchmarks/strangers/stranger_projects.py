"""The released projects of third parties that `scripts/strangers` tries, and what is changed in each.

Only names, versions and digests stand here; everything else is fetched.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

Source = Literal["pypi", "npm", "debian"]
Kind = Literal[
    "compiled",
    "third-party tests",
    "uv",
    "src layout",
    "extras",
    "doctests",
    "pytest-xdist",
    "npm",
    "pnpm",
    "TypeScript build",
    "node --test",
    "Rust",
    "monorepo",
]


@dataclass(frozen=True)
class Archive:
    """One release, by the name under which its registry knows it."""

    source: Source
    name: str
    version: str
    sha256: str


@dataclass(frozen=True)
class Part:
    """A folder of the repository and what it is made from."""

    archive: Archive
    folder: str = "."
    lock: Literal["", "npm", "pnpm"] = ""
    """The package manager that writes the lock file, which npm does not publish."""
    built: tuple[str, ...] = ()
    """Folders that a release has and its repository ignores, because a build makes them."""


@dataclass(frozen=True)
class Project:
    """A repository, its kinds, and one small change with a test for it."""

    name: str
    kinds: tuple[Kind, ...]
    parts: tuple[Part, ...]
    appended: Mapping[str, str]
    """What the scripted developer appends, by the file's path: code, then its test."""
    toolchains: tuple[Literal["rust"], ...] = ()
    """What its people have in their home for it."""
    ignored: tuple[str, ...] = field(default=())
    """Lines of its `.gitignore`, where the release lacks it."""


ITSDANGEROUS: Final = Archive(
    "pypi",
    "itsdangerous",
    "2.2.0",
    "e0050c0b7da1eea53ffaf149c0cfbb5c6e2e2b69c4bef22c81fa6eb73e5f6173",
)
PROJECTS: Final = (
    Project(
        name="itsdangerous",
        kinds=("src layout", "third-party tests"),
        parts=(Part(ITSDANGEROUS),),
        appended={
            "src/itsdangerous/encoding.py": '''

def is_encoded(value: str | bytes) -> bool:
    """Return whether a value can be decoded."""
    try:
        base64_decode(value)
    except BadData:
        return False
    return True
''',
            "tests/test_itsdangerous/test_encoding.py": """

def test_is_encoded() -> None:
    from itsdangerous.encoding import is_encoded

    assert is_encoded(base64_encode("text"))
    assert not is_encoded("12345")
""",
        },
    ),
)
