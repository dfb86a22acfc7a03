"""Accesses files inside the sandbox: resolves paths below one folder, reads and replaces content.

A part of the program that the file tools send into the sandbox (see `file_tools`): the standard
library only. It follows no link that leaves the workspace, waits for nothing, and writes only at
paths that were judged.
"""

import os
import stat

TYPE_CHECKING = False  # `typing` would cost as much as all the rest
if TYPE_CHECKING:
    from collections.abc import Sequence

WORKSPACE = "/workspace"
LARGEST_BYTES = 16 << 20
NEAREST = 3
_IMAGES = (
    (b"\x89PNG\r\n\x1a\n", "PNG"),
    (b"\xff\xd8\xff", "JPEG"),
    (b"GIF87a", "GIF"),
    (b"GIF89a", "GIF"),
    (b"II*\0", "TIFF"),
    (b"MM\0*", "TIFF"),
)


class RefusedError(Exception):
    """Raised with the answer: a sentence."""


class UnjudgedError(Exception):
    """Raised with the answer: the resolved path."""


def resolve(path: str, root: str) -> str:
    """Return the real path relative to `root`, all links followed; the last part may be missing."""
    if not path or "\0" in path:
        raise RefusedError(
            "The path is empty or holds a NUL byte. Name a file below the workspace."
        )
    if path == WORKSPACE or path.startswith(WORKSPACE + "/"):
        path = path[len(WORKSPACE) + 1 :] or "."
    whole = os.path.join(root, path)
    real, top = os.path.realpath(whole), os.path.realpath(root)
    if os.path.commonpath([real, top]) != top:
        raise RefusedError(_outside(path, whole, real, top))
    return os.path.relpath(real, top)


def _outside(path: str, whole: str, real: str, top: str) -> str:
    lexically = os.path.normpath(whole)
    if lexically == top or lexically.startswith(top + "/"):
        return (
            f"{path!r} leads outside the workspace through a symbolic link (to {real!r}). "
            "Rule: links that leave the workspace are not followed."
        )
    return f"{path!r} is outside the workspace. Rule: only files below {WORKSPACE!r} are reached."


def load(path: str) -> bytes:
    """Read a regular file whole, without ever waiting on a FIFO or a device."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    except FileNotFoundError:
        raise RefusedError(_absent(path)) from None
    except OSError as error:
        raise RefusedError(f"{shown(path)!r} cannot be opened: {error.strerror}.") from None
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise RefusedError(f"{shown(path)!r} is {_kind(found.st_mode)}, not a file.")
        if found.st_size > LARGEST_BYTES:
            raise RefusedError(
                f"{shown(path)!r} has {found.st_size} bytes; the largest that this tool takes is "
                f"{LARGEST_BYTES}. Use bash (head, sed -n, grep)."
            )
        with open(fd, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(fd)


def _kind(mode: int) -> str:
    kinds = (
        (stat.S_ISDIR, "a folder"),
        (stat.S_ISFIFO, "a FIFO"),
        (stat.S_ISSOCK, "a socket"),
    )
    return next((name for test, name in kinds if test(mode)), "a device")


def _absent(path: str) -> str:
    folder, name = os.path.split(path)
    try:
        near = sorted(os.listdir(folder), key=lambda one: -likeness(name, one))[:NEAREST]
    except OSError:
        return f"{shown(path)!r} does not exist, and neither does its folder."
    there = ", ".join(repr(shown(one)) for one in near) or "nothing"
    return f"{shown(path)!r} does not exist. Nearest in its folder: {there}."


def likeness(one: str, other: str) -> float:
    """Return how similar two texts are, by their pairs of characters: 0 to 1."""
    pairs, others = ({text[i : i + 2] for i in range(len(text))} for text in (one, other))
    return len(pairs & others) / (len(pairs | others) or 1)


def require_text(path: str, data: bytes) -> None:
    """Refuse content that cannot be shown or edited without loss."""
    if image := _image(data):
        raise RefusedError(
            f"{shown(path)!r} is an image ({image}, {len(data)} bytes): no tool here shows images. "
            "Use bash to learn facts about it, or to replace it."
        )
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise RefusedError(
            f"{shown(path)!r} is UTF-16 text, which this tool does not take. Use bash."
        )
    if b"\0" in data:
        raise RefusedError(f"{shown(path)!r} is binary (it holds NUL bytes). Use bash.")


def _image(data: bytes) -> str:
    """Name the kind of an image, and a PNG's size in pixels; empty if it is not an image."""
    kind = next((name for start, name in _IMAGES if data.startswith(start)), "")
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        kind = "WebP"
    if kind == "PNG" and data[12:16] == b"IHDR":
        width, height = (int.from_bytes(data[at : at + 4], "big") for at in (16, 20))
        kind = f"PNG, {width} × {height} pixels"
    return kind


def shown(text: str) -> str:
    """Return a name as text, whatever its bytes."""
    return os.fsencode(text).decode("utf-8", "replace")


def target(root: str, path: str, judged: "Sequence[str]") -> str:
    """Return the real path of the file that `path` leads to, once it was judged."""
    return _judged(root, path, resolve(path, root), judged)


def entry(root: str, path: str, judged: "Sequence[str]") -> str:
    """Return the real path of `path` itself, which may be a link, once it was judged."""
    folder, name = os.path.split(path.rstrip("/"))
    if name in ("", ".", "..") or "\0" in name:
        raise RefusedError(f"{path!r} names no file.")
    resolved = os.path.normpath(os.path.join(resolve(folder or ".", root), name))
    return _judged(root, path, resolved, judged)


def _judged(root: str, path: str, resolved: str, judged: "Sequence[str]") -> str:
    if resolved == ".":
        raise RefusedError(f"{path!r} is the workspace itself. Name a file.")
    if ".git" in (part.lower() for part in resolved.split("/")):
        raise RefusedError(f"{path!r} is git's own. Rule: `.git` is never written.")
    if resolved not in judged:
        raise UnjudgedError(resolved)
    return os.path.join(root, resolved)


def store(path: str, content: bytes) -> None:
    """Replace the content in place, so that mode, owner and hard links are kept."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
    with open(fd, "wb") as file:
        file.write(content)
        file.truncate()
