"""Sets up one tree: from a snapshot that fits it, or by running the commands to make one.

The commands run in a separate checkout of exactly the commit from which the key was computed. The
key's lock is held during that time, so another process that needs the same key waits, and then
finds the snapshot. The commands' processes also hold the lock, so it is free only when all of them
have ended. Changes outside ignored paths are dropped, because they would look like an agent's work.
"""

import time
from collections.abc import Mapping

from activities.ports.host_repository import WorktreePlace, WorktreeStore
from activities.ports.measures import measure
from activities.ports.snapshot_port import Snapshot, SnapshotRecord
from activities.ports.timed_parts import took_part
from activities.repository.copy_archive import write_copied
from activities.repository.host_data import Host, workspace
from activities.setup_once.place_stamps import stamps
from activities.setup_once.setup_commands import SetUp, run_commands
from activities.setup_once.setup_inputs import Grounds, fits, inputs_read, setup_key, tree_digest
from workflows.domain.ids import Commit

_STRAYS_TOLD = 3


class SetUpTree:
    """One tree that is set up and can be brought back to that state."""

    def __init__(self, host: Host, order: SetUp, name: str, commit: Commit) -> None:
        """Take the tree's name and its commit; `prepare` does the work."""
        self._host = host
        self._order = order
        self._name = name
        self._commit = commit
        self._worktrees: WorktreeStore = host.worktrees(order.key)
        self._snapshot: Snapshot | None = None
        self._is_mounted = False
        self._is_in_place = False
        self.was_kept = False
        """Whether the results of an earlier set-up were used."""

    @property
    def is_shared(self) -> bool:
        """Whether another tree of the commit is set up at next to no cost."""
        return not self._order.commands or self._is_mounted

    @property
    def kept_paths(self) -> tuple[str, ...]:
        """What the snapshot shows beneath the tree, if there is one."""
        return () if self._snapshot is None else self._snapshot.record.paths

    async def prepare(self, place: WorktreePlace, hold: int) -> tuple[str, ...]:
        """Set the tree up.

        Args:
            place: a fresh checkout.
            hold: its lock.

        Returns:
            Network requests of set-up that failed, and files of it that are not kept, although
            set-up succeeded.

        Raises:
            ApplicationError: SetupFailed, with the command and the end of its output.
        """
        if not self._order.commands:
            await write_copied(self._host.store, place.path, self._order.copied)
            return ()
        layering = await self._host.sandbox.layering(place.state)
        if layering.kind == "none":
            self._is_in_place = True
            await write_copied(self._host.store, place.path, self._order.copied)
            tree = workspace(place, self._order.environment, writable=True)
            began = time.monotonic()
            notices = await run_commands(self._host.sandbox, tree, self._order, hold)
            _measured(began)
            return notices
        self._is_mounted = layering.kind == "mounted"
        self._snapshot = await self._shared(place)
        return self._snapshot.record.notices

    async def renew(self, place: WorktreePlace) -> None:
        """Delete what was written to ignored paths since set-up; the tree is already restored.

        If set-up ran in the tree itself, later writes cannot be told from its results.
        """
        if self._is_in_place:
            return
        snapshot = self._snapshot
        tops = () if snapshot is None else tuple(map(str.encode, snapshot.record.paths))
        await self._worktrees.discard_ignored(self._name, tops)
        if snapshot is None:
            await write_copied(self._host.store, place.path, self._order.copied)
        else:
            await self._give(snapshot, place)

    async def _give(self, snapshot: Snapshot, place: WorktreePlace) -> None:
        await self._host.snapshots.give(snapshot, place.path, place.state, mounted=self._is_mounted)

    async def _shared(self, place: WorktreePlace) -> Snapshot:
        order = self._order
        entries = await self._host.commits(order.key).entries(self._commit)
        places = stamps(self._host.toolchains, order.environment)
        grounds = Grounds(order.key, order.commands, order.environment, places, order.copied)
        key = setup_key(grounds, entries)
        async with self._host.snapshots.lock(key) as fence:
            found = (each for each in self._host.snapshots.find(key) if fits(each.record, entries))
            kept = next(found, None)
            self.was_kept = kept is not None
            began = time.monotonic()
            snapshot = kept or await self._made(key, entries, fence)
            _measured(None if self.was_kept else began)
            await self._give(snapshot, place)
        return snapshot

    async def _made(self, key: str, entries: Mapping[bytes, str], fence: int) -> Snapshot:
        """Run the commands in a separate checkout and keep their results."""
        name = f"{self._order.session}.setup.{key[:16]}".lower()
        async with self._worktrees.lock(name):
            await self._worktrees.remove_worktree(name)
            try:
                return await self._kept(key, name, entries, fence)
            finally:
                await self._worktrees.remove_worktree(name)

    async def _kept(
        self, key: str, name: str, entries: Mapping[bytes, str], fence: int
    ) -> Snapshot:
        place = await self._worktrees.create_worktree(name, self._commit)
        await write_copied(self._host.store, place.path, self._order.copied)
        tree = workspace(place, self._order.environment, writable=True)
        watch = await self._host.snapshots.watch(place.path, entries)
        notices = await run_commands(self._host.sandbox, tree, self._order, fence)
        read = None if watch is None else inputs_read(*watch.read(), self._order.commands, entries)
        # After `read`: looking for stray paths lists folders, which changes their access times.
        notices += _dropped(await self._worktrees.stray_paths(name))
        record = SnapshotRecord(
            schema=1,
            tree=tree_digest(entries),
            read=read,
            paths=(),
            size_bytes=0,
            notices=notices,
        )
        ignored = await self._worktrees.ignored_paths(name)
        return await self._host.snapshots.keep(key, place.path, ignored, record)


def _measured(began: float | None) -> None:
    """Measure one tree that was set up. Args: `began`: when its commands did; None: none ran."""
    if began is None:
        measure("blueflame_setups_total", by="snapshot")
        took_part("setup", "snapshot", time.monotonic())
    else:
        measure("blueflame_setups_total", by="commands")
        took_part("setup", "commands", began)
        measure("blueflame_setup_seconds", time.monotonic() - began)


def _dropped(strays: tuple[bytes, ...]) -> tuple[str, ...]:
    """Name files that set-up made and that were dropped."""
    if not strays:
        return ()
    named = ", ".join(repr(each.decode(errors="replace")) for each in strays[:_STRAYS_TOLD])
    more = f" and {len(strays) - _STRAYS_TOLD} more" if len(strays) > _STRAYS_TOLD else ""
    text = f"set-up made {named}{more}, which git does not ignore, so it was dropped"
    return (f"{text}; if gates need it, add it to .gitignore",)
