"""Fetches releases with their registries' ordinary clients, and makes repositories of them."""

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks.strangers.stranger_shape import Archive, Part, Project

_PATIENCE_S: Final = 600
_NAME: Final = ("-c", "user.name=someone", "-c", "user.email=someone@localhost")


class FetchError(Exception):
    """A release could not be fetched, or is another one; the text says which and why."""


def make_repository(project: Project, archives: Path, root: Path, tools: Path) -> None:
    """Make a repository of a project's releases, with an uncommitted change.

    Args:
        project: the releases.
        archives: the cache of fetched releases.
        root: the repository's folder, which does not exist yet.
        tools: where missing package managers are installed.

    Raises:
        FetchError: a release cannot be fetched or was changed, or a lock file cannot be written.
    """
    for part in project.parts:
        folder = root / part.folder
        folder.mkdir(parents=True, exist_ok=True)
        _unpack(_fetch(part.archive, archives), part.archive, folder)
        for name in part.built:
            shutil.rmtree(folder / name)
        _write_lock(part, folder, tools)
    if project.ignored:
        with (root / ".gitignore").open("a", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in project.ignored)
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, *_NAME, "commit", "-q", "-m", "As released")
    version = project.parts[0].archive.version
    git(root, *_NAME, "tag", "-a", "-m", version, version)
    # An uncommitted change, as in many checkouts.
    (root / "scratch.txt").write_text("mine\n")
    readme = min(root.rglob("README*"), key=lambda path: (len(path.parts), path))
    with readme.open("a", encoding="utf-8") as file:
        file.write("\nnot committed yet\n")


def commit(root: Path, path: str, message: str) -> None:
    """Commit one file of a checkout, and nothing else."""
    git(root, "add", path)
    git(root, *_NAME, "commit", "-q", "-m", message, "--", path)


def git(root: Path, *arguments: str) -> bytes:
    """Run git in a repository of any owner; return its output."""
    command = ("git", "-c", "safe.directory=*", *arguments)
    ran = subprocess.run(command, cwd=root, check=True, capture_output=True, timeout=_PATIENCE_S)
    return ran.stdout


def _fetch(archive: Archive, folder: Path) -> Path:
    place = folder / f"{archive.source}-{archive.name.replace('/', '-')}-{archive.version}"
    if not (place.is_dir() and any(place.iterdir())):
        place.mkdir(parents=True, exist_ok=True)
        _run(_fetcher(archive), place, f"{archive.name} {archive.version}")
    found = [path for path in place.iterdir() if path.is_file()]
    if len(found) != 1:
        raise FetchError(f"{place} holds {len(found)} files in place of one release")
    digest = hashlib.sha256(found[0].read_bytes()).hexdigest()
    if digest != archive.sha256:
        raise FetchError(f"{found[0].name} has the digest {digest}, expected {archive.sha256}")
    return found[0]


def _fetcher(archive: Archive) -> Sequence[str]:
    if archive.source == "pypi":
        pip = (sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:")
        return (*pip, f"{archive.name}=={archive.version}")
    if archive.source == "npm":
        return ("npm", "pack", "--silent", f"{archive.name}@{archive.version}")
    return ("apt-get", "download", "-qq", f"{archive.name}={archive.version}")


def _unpack(file: Path, archive: Archive, folder: Path) -> None:
    """Unpack a release, without its top folder."""
    around = folder / ".unpacked"
    around.mkdir()
    if archive.source == "debian":
        _run(("dpkg-deb", "-x", str(file), str(around)), folder, file.name)
        (inner,) = (around / "usr/share/cargo/registry").iterdir()
        (inner / ".cargo-checksum.json").unlink(missing_ok=True)
    else:
        # By the program: before Python 3.11.4 `tarfile` cannot refuse what leads outside.
        unpack = ["tar", "-xf", str(file), "-C", str(around), "--no-same-owner"]
        subprocess.run(unpack, check=True)
        (inner,) = around.iterdir()
    for path in inner.iterdir():
        path.rename(folder / path.name)
    shutil.rmtree(around)


def _write_lock(part: Part, folder: Path, tools: Path) -> None:
    if part.lock == "npm":
        npm = ("npm", "install", "--package-lock-only", "--ignore-scripts")
        day = (f"--before={part.resolved_before}",) if part.resolved_before else ()
        _run((*npm, "--no-audit", "--no-fund", *day), folder, "the lock file of npm")
    elif part.lock == "pnpm":
        program = tools / "node_modules/.bin/pnpm"
        if not program.exists():
            install = ("npm", "install", "--no-audit", "--no-fund", "--prefix", str(tools))
            _run((*install, "pnpm@10"), folder, "pnpm")
        _run((str(program), "install", "--lockfile-only"), folder, "the lock file of pnpm")


def _run(command: Sequence[str], folder: Path, wanted: str) -> None:
    try:
        subprocess.run(
            command, cwd=folder, check=True, capture_output=True, text=True, timeout=_PATIENCE_S
        )
    except FileNotFoundError as error:
        raise FetchError(f"cannot have {wanted}: {command[0]} is not installed") from error
    except subprocess.TimeoutExpired as error:
        raise FetchError(f"cannot have {wanted}: nothing after {_PATIENCE_S} s") from error
    except subprocess.CalledProcessError as error:
        said = f"{error.stdout}{error.stderr}".strip()[-2000:]
        raise FetchError(f"cannot have {wanted}: {said}") from error
