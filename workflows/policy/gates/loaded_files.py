"""Recognizes files that a gate's tools load before they judge, and that could change the result.

A gate runs on the tree that an agent wrote. So an agent may add such a file only if the approved
plan claims it by name: the last part of a claim is the file's own name, without wildcards.

| a new file                                   | is loaded by             | needs a claim          |
|----------------------------------------------|--------------------------|------------------------|
| `sitecustomize`, `usercustomize`             | Python, at its start     | by name                |
| `*.pth`, unless it is binary                 | Python, at its start     | by name                |
| named as pytest, a plugin of it, or a module | Python, in place of the  | by name                |
| that it imports, in a folder imported from   | true one                 |                        |
| `entry_points.txt` in `*.dist-info` or       | pytest and others, as a  | by name                |
| `*.egg-info`                                 | plugin                   |                        |
| below `site-packages`, `.venv`, `venv`       | Python                   | by name                |
| `pytest.ini` and the like, at any depth      | pytest                   | by name                |
| `conftest.py`                                | pytest                   | other than `**`        |
| `.npmrc`, `.yarnrc`, `.yarnrc.yml`,          | npm, yarn, pnpm, bun:    | by name                |
| `.pnpmfile.cjs`, `.pnp.*`, `bunfig.toml`     | shells, preloads         |                        |
| below `node_modules`, its `.bin` included    | Node                     | by name                |
| `config`, `config.toml` in `.cargo`          | cargo: runners, wrappers | by name                |
| `rust-toolchain`, `rust-toolchain.toml`      | rustup                   | by name                |
| `go.work`                                    | go                       | by name                |
| `.rspec`, `.bundle/config`                   | rspec, bundler           | by name                |
| below `.mvn`                                 | Maven                    | by name                |
| any other                                    |                          | as every file          |

Tests import from the root, `src`, `lib`, and folders that contain tests and are not packages.
`policy.commands.protection` guards files that are changed and not new.
"""

import re
from collections.abc import Collection, Sequence
from typing import Final

from workflows.policy.plan.claims import is_claimed
from workflows.policy.text.lenient_names import as_read_elsewhere

_STARTED: Final = frozenset({"sitecustomize", "usercustomize"})
_RUNNERS: Final = frozenset(
    {"pytest", "py", "_pytest", "pluggy", "iniconfig", "packaging", "pygments", "coverage"}
    | {"pytest_cov", "xdist", "execnet", "pytest_asyncio", "pytest_timeout", "pytest_mock", "nose"}
    | {"tox", "nox", "hypothesis", "_hypothesis_pytestplugin", "mypy", "ruff", "setuptools", "pip"}
)
_IMPORTED: Final = frozenset(
    """
    abc argparse array ast asyncio atexit base64 bdb binascii bisect builtins bz2 calendar cmd code
    codecs codeop collections concurrent contextlib contextvars copy copyreg csv dataclasses
    datetime decimal difflib dis doctest email encodings enum errno faulthandler fcntl fnmatch
    fractions functools gc genericpath gettext glob gzip hashlib heapq html importlib inspect io
    ipaddress itertools json keyword linecache locale logging lzma marshal math ntpath numbers
    opcode operator os pathlib pdb platform posix posixpath pprint profile pyexpat queue quopri
    random re readline reprlib runpy select selectors shlex shutil signal site socket ssl stat
    string struct subprocess sys sysconfig tempfile textwrap threading time token tokenize tomllib
    traceback types typing unicodedata unittest urllib uuid warnings weakref xml zipfile zipimport
    zlib zoneinfo
    """.split()  # noqa: SIM905 (as a list it would be a hundred lines)
)
"""The modules of the standard library that pytest and unittest import at their start."""
_MODULE: Final = re.compile(r"(\w+)(?:\.[\w-]+)*\.(?:py|pyc|so)\Z")
_TEST: Final = re.compile(r"(?:test_.*|.*_test|conftest)\.py\Z")
_NAMES: Final = {
    **dict.fromkeys(("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"), "pytest"),
    **dict.fromkeys((".npmrc", ".pnpmfile.cjs"), "npm and pnpm"),
    **dict.fromkeys((".yarnrc", ".yarnrc.yml", ".pnp.cjs", ".pnp.js", ".pnp.loader.mjs"), "yarn"),
    "bunfig.toml": "bun",
    **dict.fromkeys(("rust-toolchain", "rust-toolchain.toml"), "rustup"),
    "go.work": "go",
    ".rspec": "rspec",
}
_IN_FOLDERS: Final = {
    **{(".cargo", name): "cargo" for name in ("config", "config.toml")},
    (".bundle", "config"): "bundler",
}
_FOLDERS: Final = {
    "node_modules": "Node",
    **dict.fromkeys(("site-packages", ".venv", "venv"), "Python"),
    ".mvn": "Maven",
}
_ROOTS: Final = frozenset({"", "src", "lib"})


def import_folders(paths: Collection[str]) -> frozenset[str]:
    """Return the folders from which tests import; the root is `""`, others end without a slash.

    Args:
        paths: of every file of the result.
    """
    split = [path.rpartition("/") for path in paths]
    packages = {folder for folder, _, name in split if name == "__init__.py"}
    tested = {folder for folder, _, name in split if _TEST.match(name)}
    return _ROOTS.union(tested) - packages


def why_loaded(path: str, folders: Collection[str], *, is_binary: bool = False) -> str | None:
    """Say which tool loads a new file before it judges; None if no known tool does.

    Args:
        path: from the repository's root.
        folders: `import_folders` of the result.
        is_binary: the file is not text.
    """
    *parts, name = as_read_elsewhere(path).split("/")
    if found := next((_FOLDERS[part] for part in parts if part in _FOLDERS), None):
        return f"{found} loads it"
    if tool := _NAMES.get(name) or _IN_FOLDERS.get((parts[-1] if parts else "", name)):
        return f"{tool} obeys it"
    if name == "conftest.py":
        return "pytest loads it"
    if name == "entry_points.txt" and parts and parts[-1].endswith((".dist-info", ".egg-info")):
        return "pytest and other tools load the plugins that it names"
    if name.endswith(".pth") and not is_binary:
        return "Python runs it at its start"
    return _shadows(path, folders)


def _shadows(path: str, folders: Collection[str]) -> str | None:
    folder, _, name = path.rpartition("/")
    if name == "__init__.py":
        folder, _, module = folder.rpartition("/")
    else:
        module = match[1] if (match := _MODULE.match(name)) else ""
    if module in _STARTED:
        return "Python runs it at its start"
    if folder in folders and (module in _RUNNERS or module in _IMPORTED):
        return f"Python would load it in place of its own {module!r}"
    return None


def is_allowed(path: str, claims: Sequence[str]) -> bool:
    """Say whether the plan claims such a file as the table above requires."""
    name = path.rpartition("/")[2]
    if name == "conftest.py":
        return is_claimed(path, [claim for claim in claims if claim.strip("*/")])
    by_name = [claim for claim in claims if claim.rstrip("/").rpartition("/")[2] == name]
    return is_claimed(path, by_name)
