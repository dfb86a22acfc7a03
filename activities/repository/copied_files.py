"""What may be copied from the person's checkout into worktrees (`worktree.copy`).

Pure decisions over a path, a size and a content; the caller lists the files and copies them. A file
that looks like it holds a secret is refused unless the person marked it (`worktree.allow_secret`):
whatever is in a worktree can be read by a model and sent to its provider. The patterns here catch
secrets left by mistake; they do not prove that a file contains no secret.
"""

import re
from collections.abc import Collection
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from workflows.policy.text.secret_patterns import first_of_each

MAX_COPY_BYTES = 50 << 20

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SECRET_NAMES = (
    ".env",
    ".env.*",
    "*.env",
    ".envrc",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "*.ppk",
    "*.asc",
    "*.gpg",
    "id_rsa*",
    "id_dsa*",
    "id_ecdsa*",
    "id_ed25519*",
    "credentials",
    "credentials.*",
    "*credentials*.json",
    "client_secret*",
    "service-account*.json",
    "secrets.*",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".pgpass",
    ".git-credentials",
    ".htpasswd",
    ".dockercfg",
    "terraform.tfstate*",
    "*.tfvars",
    "kubeconfig",
)
_SECRET_FOLDERS = frozenset({".ssh", ".aws", ".gnupg", ".azure", ".kube", ".docker", ".gcloud"})
_HARMLESS_NAMES = (
    ".env.example",
    ".env.*.example",
    ".env.sample",
    ".env.template",
    ".env.dist",
    ".env.defaults",
    ".env.test",
    ".env.testing",
    ".env.ci",
    "*.pub",
)
"""Made to be shared: examples, settings of test runs. Their content is looked at all the same."""


def refuse(path: str, size: int, allow_secret: Collection[str] = ()) -> str | None:
    """Decide by name and size whether a file may be copied.

    Args:
        path: relative to the repository's root, with `/`, as git would name it.
        size: bytes.
        allow_secret: paths that the person marked; they lift the rule on secrets and no other.

    Returns:
        None where it may, or one sentence with the reason and what to do.
    """
    fault = _path_fault(path)
    if fault is not None:
        return f"{path!r} is not copied: {fault}"
    if size > MAX_COPY_BYTES:
        limit = MAX_COPY_BYTES >> 20
        return f"{path!r} is not copied: {size} bytes are over the limit of {limit} MiB"
    if _is_secret_name(path) and not _is_marked(path, allow_secret):
        return f"{path!r} is not copied: its name looks secret; {_remedy(path)}"
    return None


def refuse_content(path: str, content: bytes, allow_secret: Collection[str] = ()) -> str | None:
    """Decide by content whether a file may be copied.

    Returns:
        None where it may, or one sentence with the line and the kind of secret, never its text.
    """
    if _is_marked(path, allow_secret):
        return None
    for line, name in first_of_each(content):
        return f"{path!r} is not copied: line {line} looks like {name}; {_remedy(path)}"
    return None


def _remedy(path: str) -> str:
    return f"list {path!r} under 'worktree.allow_secret' if models may see it"


def _path_fault(path: str) -> str | None:
    if not path or _CONTROL.search(path):
        return "a path must not be empty or contain control characters"
    if path.startswith(("/", "~")) or "\\" in path or re.match(r"[A-Za-z]:", path):
        return "write a path relative to the repository's root, with '/'"
    parts = path.split("/")
    if ".." in parts:
        return "'..' leads out of the repository"
    if any(_is_git_folder(part) for part in parts):
        return "nothing below '.git' is ever copied"
    return None


def _is_git_folder(part: str) -> bool:
    """Also in the spellings that some file systems take for the same name."""
    return part.casefold().rstrip(". ") in {".git", "git~1"}


def _is_secret_name(path: str) -> bool:
    *folders, name = path.casefold().split("/")
    if any(folder in _SECRET_FOLDERS for folder in folders):
        return True
    if any(fnmatchcase(name, pattern) for pattern in _HARMLESS_NAMES):
        return False
    return any(fnmatchcase(name, pattern) for pattern in _SECRET_NAMES)


def _is_marked(path: str, allow_secret: Collection[str]) -> bool:
    """Exact paths only: a glob here would mark files that no one looked at."""
    return PurePosixPath(path) in {PurePosixPath(marked) for marked in allow_secret}
