"""Turns a process's settings into a host's adapters: its git, its sandbox, its store."""

import os
import shutil
import signal
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from workers.hosting import data_layout
from workers.hosting.cgroup_delegation import place_of
from workers.hosting.offered_toolchains import offered_toolchains
from workers.hosting.told_registries import told_registries
from workers.roles import SIGNING_NAMES
from workers.settings import Settings
from workflows.queues import host_queue

if TYPE_CHECKING:
    from activities.adapters.git.repository_locks import Locking
    from activities.adapters.git.user.fast_forward import Person
    from activities.base_import import OwnPlace
    from activities.ports.host_repository import HostRepository
    from activities.ports.registry_access import Registries
    from activities.ports.sandbox_port import Sandbox
    from activities.ports.toolchain_places import Toolchains
    from activities.repository.host_data import Host


_GIT_SETTINGS = ("HOME", "XDG_CONFIG_HOME")
"""Say where a person keeps what git ignores, and how it reads text."""


class GitMissingError(RuntimeError):
    """There is no git program on PATH."""


def person_of(environment: Mapping[str, str]) -> "Person":
    """Return the person whose git settings count for a repository that this process reads."""
    from activities.adapters.git.user.fast_forward import Person

    return Person({name: environment[name] for name in _GIT_SETTINGS if name in environment})


def signer_of(environment: Mapping[str, str]) -> "Person":
    """Return the person with what git needs to sign as them; only role `land` has that."""
    names = (*_GIT_SETTINGS, *SIGNING_NAMES, "PATH", "USER", "LOGNAME", "XDG_RUNTIME_DIR")
    signing = {name: environment[name] for name in names if name in environment}
    return replace(person_of(environment), signing=signing)


def git_program() -> Path:
    """Return the absolute path of git.

    Raises:
        GitMissingError: there is none on PATH.
    """
    found = shutil.which("git")
    if found is None:
        raise GitMissingError("there is no `git` on the PATH; install it and start again")
    return Path(found)


def own_places(settings: Settings) -> "Callable[[str], OwnPlace | None]":
    """Return what finds the repositories of this machine's host that this process can fill.

    Root does not write there, but hands packs over to the host's user.
    """
    from activities.adapters.git.bare_repository import Layout
    from activities.adapters.git.base_transfer import identity
    from activities.adapters.git.user import pack_hand_over
    from activities.base_import import OwnPlace
    from activities.ports.user_repository import HandOver

    top, ids = settings.data_dir, (settings.host_uid, settings.host_gid)
    handing = HandOver(top, top / "incoming", *ids)

    def find(key: str) -> "OwnPlace | None":
        bare = Layout(settings.host_dir, key).bare
        name = identity(bare)
        if name is None:
            return None
        owner, user = bare.stat().st_uid, os.geteuid()
        if user != 0:
            return OwnPlace(bare, name) if owner == user else None
        is_possible = owner == settings.host_uid and pack_hand_over.is_possible(handing, bare)
        return OwnPlace(bare, name, handing) if is_possible else None

    return find


def make_host(settings: Settings, locking: "Locking | None" = None) -> "Host":
    """Return this host's adapters; nothing is created on disk yet.

    Args:
        settings: the process's.
        locking: how to lock a worktree; None: exclusively. A crash test passes a fake lock.
    """
    from activities.adapters.blob_store import LocalStore
    from activities.adapters.git.git_command import Git
    from activities.adapters.git.host_git import GitHostRepository, Seams
    from activities.adapters.kept_baselines import LocalBaselines
    from activities.adapters.snapshots.snapshot_store import LocalSnapshots
    from activities.repository.host_data import Host

    git = Git(git_program())
    fail_point = FailPoint(settings.fail_point, settings.host_dir)
    seams = Seams(locking or _sweeping, fail_point)
    opened: dict[str, HostRepository] = {}

    def repository(key: str) -> "HostRepository":
        if key not in opened:
            opened[key] = GitHostRepository(git, settings.host_dir, key, seams)
        return opened[key]

    toolchains = offered_toolchains(settings)
    registries = told_registries(settings)
    name = data_layout.host_name(settings)
    return Host(
        name=name,
        queue=host_queue(name),
        store=LocalStore(settings.store_dir),
        sandbox=_sandbox(settings, toolchains, registries),
        snapshots=LocalSnapshots(settings.host_dir, _sweeping, settings.snapshot_bytes),
        repository=repository,
        fail_point=fail_point,
        toolchains=toolchains,
        registries=registries,
        baselines=LocalBaselines(settings.host_dir / "baselines"),
    )


def _sweeping(
    path: Path, on_wait: Callable[[], None] | None = None
) -> AbstractAsyncContextManager[int]:
    """Lock exclusively; if only a half-made sandbox holds the lock, end that sandbox."""
    from activities.adapters.git.repository_locks import exclusive
    from activities.adapters.sandbox.processes.orphaned_sandboxes import sweep_orphans

    def wait() -> None:
        sweep_orphans()
        if on_wait is not None:
            on_wait()

    return exclusive(path, wait)


def _sandbox(settings: Settings, toolchains: "Toolchains", registries: "Registries") -> "Sandbox":
    from activities.adapters.sandbox.bubblewrap import BubblewrapSandbox
    from activities.adapters.sandbox.egress.egress_proxy import Outside
    from activities.adapters.sandbox.unconfined import UnconfinedSandbox

    cgroup = place_of(settings.cgroup)
    if settings.sandbox == "none":
        return UnconfinedSandbox(cgroup=cgroup, offered=toolchains)
    outside = Outside(registries=registries)
    return BubblewrapSandbox(cgroup=cgroup, offered=toolchains, outside=outside)


class FailPoint:
    """Ends the process once, where a crash test asks for it; does nothing in ordinary runs."""

    def __init__(self, name: str | None, directory: Path) -> None:
        self._name = name
        self._spent = directory / f"fail-point-{name}"

    def __call__(self, name: str) -> None:
        """End the process if the test asked for this point and it is reached for the first time."""
        if name != self._name or self._spent.exists():
            return
        self._spent.touch()
        os.kill(os.getpid(), signal.SIGKILL)
