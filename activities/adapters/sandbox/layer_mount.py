"""Mounts a snapshot beneath a workspace, for one command, in namespaces that end with it.

An overlay: the snapshot is the lower layer, which the kernel never writes, and the workspace the
upper one. It is mounted over the workspace's own path, in a user and a mount namespace around
bubblewrap, because bubblewrap before 0.11 cannot mount one. It is `volatile`, because otherwise
unmounting would wait until the whole file system is on disk; work that a power cut destroys is
restored from a checkpoint.
"""

import os
import tempfile
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path

from activities.ports.sandbox_port import (
    Layer,
    Layering,
    Limits,
    SandboxCommand,
    SandboxResult,
    SandboxUnavailableError,
    Workspace,
)

_MOUNT = 'mount -i -n -t overlay -o "$1" overlay "$2" && shift 2 && exec "$@"'
_NAMESPACES = ("/usr/bin/unshare", "-Urm", "--propagation", "unchanged", "--")
_TRIAL_TIMEOUT = timedelta(seconds=30)
_TRIAL = """\
test "$(cat kept/file)" = lower && echo upper >kept/file && rm -r gone && mkdir gone &&
mv kept/file gone/moved && cat gone/moved"""
"""Reads, writes, deletes, and makes a folder where one was deleted, which needs an attribute that
not all file systems support."""


def under_layer(argv: tuple[str, ...], layer: Layer) -> tuple[str, ...]:
    """Return what to start, in `layer.root`, so that `argv` runs with the layer mounted.

    The paths are relative and have only harmless characters, so the mount options are parsed whole.
    """
    places = f"lowerdir={layer.lower},upperdir={layer.upper},workdir={layer.work}"
    options = f"{places},userxattr,volatile,nosuid,nodev"
    return (*_NAMESPACES, "/bin/sh", "-c", _MOUNT, "sh", options, layer.upper, *argv)


def fresh_work(layer: Layer) -> None:
    """Empty the mount's scratch space; a folder left by the kernel prevents a second mount.

    Raises:
        SandboxUnavailableError: the snapshot is missing, or the disk refuses.
    """
    if not (layer.root / layer.lower).is_dir():
        raise SandboxUnavailableError(
            f"The set-up snapshot {layer.lower!r} is gone from {str(layer.root)!r}. "
            "Retry the task: its next worktree is set up again."
        )
    place = layer.root / layer.work
    try:
        _clear(place)
        place.mkdir(mode=0o700, parents=True)
    except OSError as error:
        raise SandboxUnavailableError(f"The layer of a set-up cannot be made: {error}.") from error


def _clear(folder: Path) -> None:
    if not folder.exists():
        return
    os.chmod(folder, 0o700)
    with os.scandir(folder) as entries:
        for entry in list(entries):
            if entry.is_dir(follow_symlinks=False):
                _clear(Path(entry.path))
            else:
                os.unlink(entry.path)
    os.rmdir(folder)


async def try_layer(
    run: Callable[[SandboxCommand], Awaitable[SandboxResult]], near: Path
) -> Layering:
    """Mount one layer and use it.

    Args:
        run: the sandbox's own `run`.
        near: where layers will be, because file systems differ.
    """
    try:
        with _folder_near(near) as folder:
            reason = await _tried(run, Path(folder))
    except (SandboxUnavailableError, OSError) as error:
        reason = str(error)
    if reason is None:
        return Layering(kind="mounted")
    return Layering(
        kind="copied",
        reason=f"Overlay mounts do not work here, so each worktree gets a copy of the set-up's "
        f"result ({reason}). They need Linux 5.11 and user namespaces with mounts.",
    )


def _folder_near(near: Path) -> tempfile.TemporaryDirectory[str]:
    near.mkdir(parents=True, exist_ok=True)
    return tempfile.TemporaryDirectory(prefix="layer-trial-", dir=near)


async def _tried(
    run: Callable[[SandboxCommand], Awaitable[SandboxResult]], folder: Path
) -> str | None:
    for name in ("lower/kept", "lower/gone", "upper"):
        (folder / name).mkdir(parents=True)
    (folder / "lower/kept/file").write_text("lower\n")
    layer = Layer(root=folder, lower="lower", upper="upper", work="work")
    workspace = Workspace(path=folder / "upper", layer=layer)
    limits = Limits(timeout=_TRIAL_TIMEOUT)
    command = SandboxCommand(argv=("sh", "-c", _TRIAL), workspace=workspace, limits=limits)
    ran = await run(command)
    _clear(folder / "work")
    if ran.end != "exited" or ran.code != 0 or ran.output != b"upper\n":
        return f"a trial {ran.end} with {ran.code}: {ran.output[-200:].decode(errors='replace')}"
    return None
