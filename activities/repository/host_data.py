"""What a host's activities share: its data, its repositories, its sandbox, its names.

An agent's worktree and refs are named after the agent and its attempt, so that an effect of an
earlier attempt can never reach a later one's.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from activities.ports.baseline_port import BaselineStore
from activities.ports.blob_store_port import StreamStore
from activities.ports.host_repository import (
    CommitReader,
    HostRepository,
    SessionHistory,
    WorktreePlace,
    WorktreeStore,
)
from activities.ports.registry_access import Registries
from activities.ports.sandbox_port import Layer, Sandbox, Workspace
from activities.ports.snapshot_port import (
    SNAPSHOT_FILES,
    USED_SNAPSHOT,
    SnapshotStore,
    UsedSnapshot,
)
from activities.ports.toolchain_places import Toolchains
from workflows.domain.agent.agent_values import WorktreeRef
from workflows.domain.environment import ProjectEnvironment


def no_fail_point(_: str) -> None:
    """Do nothing, as ordinary runs do at a fail point."""


@dataclass(frozen=True)
class Host:
    """One host's means."""

    name: str
    queue: str
    store: StreamStore
    sandbox: Sandbox
    repository: Callable[[str], HostRepository]
    """Opens the own repository of a key; makes nothing yet."""
    snapshots: SnapshotStore
    """What set-ups left, for all repositories."""
    fail_point: Callable[[str], None] = no_fail_point
    """Called at named points between an effect and its record; tests end the process there."""
    toolchains: Toolchains = field(default_factory=Toolchains)
    """What its sandbox shows where a session wants it."""
    registries: Registries = field(default_factory=Registries)
    """What set-up reaches where a session wants it."""
    baselines: BaselineStore | None = None
    """The gates' results on bases; None: they are not kept."""

    def worktrees(self, key: str) -> WorktreeStore:
        """Return the worktrees of a repository."""
        return self.repository(key)

    def history(self, key: str) -> SessionHistory:
        """Return the bases, task commits, merges and refs of a repository."""
        return self.repository(key)

    def commits(self, key: str) -> CommitReader:
        """Return what reads the commits of a repository."""
        return self.repository(key)


def worktree_name(worktree: WorktreeRef) -> str:
    """Return an agent's worktree's name on the host."""
    return f"{worktree.session}.{worktree.agent}".lower()


def checkpoint_ref(worktree: WorktreeRef) -> str:
    """Return the ref that holds an agent's last checkpoint."""
    return f"refs/blueflame/{worktree.session}/agents/{worktree.agent}"


def workspace(
    place: WorktreePlace, environment: ProjectEnvironment, *, writable: bool
) -> Workspace:
    """Return a worktree as the sandbox shows it, with the project's environment."""
    return Workspace(
        layer=_layer(place),
        path=place.path,
        git_dir=place.git_dir,
        git_name=place.name,
        writable=writable,
        environment=environment,
    )


def _layer(place: WorktreePlace) -> Layer | None:
    """Return what the worktree was given to see beneath it (`SnapshotStore.give`)."""
    try:
        used = UsedSnapshot.model_validate_json((place.state / USED_SNAPSHOT).read_bytes())
    except FileNotFoundError:
        return None
    if not used.mounted:
        return None
    root = Path(os.path.commonpath((place.path, place.state)))
    return Layer(
        root=root,
        lower=f"{used.place}/{SNAPSHOT_FILES}",
        upper=str(place.path.relative_to(root)),
        work=str((place.state / "layer-work").relative_to(root)),
    )
