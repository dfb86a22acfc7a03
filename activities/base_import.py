"""The base: exported once with the person's rights, imported on the host."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.activity_failures import mapped
from activities.gates.detection import detect_gates, files_to_read
from activities.ports.blob_store_port import BlobMissingError, BlobStore, StreamStore
from activities.ports.git_errors import PrerequisiteMissingError
from activities.ports.history_values import HistoryImport, HistoryWish
from activities.ports.host_repository import CommitReader, SessionHistory
from activities.ports.user_repository import (
    AttributeRules,
    HandOver,
    RepositoryFacts,
    UserRepository,
)
from activities.repository.checkout_copies import CopiedEntry, read_copies
from activities.repository.copy_archive import packed
from activities.repository.host_data import Host, no_fail_point
from activities.repository.repository_brief import SAYING, brief_of
from activities.repository.repository_warnings import cut_sentence, unfilled, warnings_of
from workflows.contracts.host_contracts import AwaitBase, AwaitedBase, ImportBase, ImportedBase
from workflows.contracts.land_contracts import ExportBase, SendBase, SentBase
from workflows.domain.ids import Commit, Digest
from workflows.domain.repository import Base, CopiedFile
from workflows.domain.session.session_config import WorktreeConfig
from workflows.errors import FailureType
from workflows.policy.gates.pipe_faults import pipe_fault

_UNCUT: Final = "for all of them set `worktree.history: full`"


@dataclass(frozen=True)
class OwnPlace:
    """A host's repository on this machine that this process can fill."""

    path: Path
    name: str
    """As in `SendBase.place`."""
    handing: HandOver | None = None
    """How, where it belongs to another user; None: it belongs to the user of this process."""


class ExportActivities:
    """Activities `repository.export` and `repository.send`, in role `land`."""

    def __init__(
        self,
        repository: UserRepository,
        store: StreamStore,
        own_place: Callable[[str], OwnPlace | None] = lambda _: None,
        fail_point: Callable[[str], None] = no_fail_point,
    ) -> None:
        """Take the means.

        Args:
            repository: the person's.
            store: where what the host needs is kept.
            own_place: by key, the repository of a host that this process can fill; None: there
                is none.
            fail_point: called with `after-send`.
        """
        self._repository = repository
        self._store = store
        self._own_place = own_place
        self._fail_point = fail_point

    @activity.defn(name="repository.export")
    async def export(self, request: ExportBase) -> Base:
        """Check the person's repository and find the base; nothing there is changed.

        Raises:
            ApplicationError: RepositoryRefused, in words for a person.
        """
        with mapped():
            facts = await self._repository.inspect(
                Path(request.repository), request.base, request.session
            )
            known = await self._repository.names(facts.root, facts.base)
            excludes = await self._repository.excludes(facts.root)
            rules = await self._repository.attribute_rules(facts.root)
            copied = await self._copied(facts, request.worktree)
        return Base(
            repository=str(facts.root),
            key=facts.key,
            names=await self._store.put(known.names) if known.names else None,
            excludes=await self._store.put(excludes) if excludes else None,
            rules=await self._put(rules),
            shallow=known.shallow,
            commit=facts.base,
            tree=facts.tree,
            branch=facts.base_branch,
            files=facts.file_count,
            tree_bytes=facts.tree_bytes,
            copied=copied,
            warnings=warnings_of(facts),
            unfilled=unfilled(facts),
        )

    @activity.defn(name="repository.send")
    async def send(self, request: SendBase) -> SentBase:
        """Send the history that the host lacks: straight to its repository if it is here.

        Raises:
            ApplicationError: RepositoryRefused, where the history is not whole.
        """
        path, own = Path(request.repository), self._own_place(request.key)
        with mapped():
            ends = await read_ends(self._store, request.ends)
            wish = HistoryWish(request.commit, request.history, request.known, ends)
            part = await self._repository.part(path, wish)
            bundle = None
            if part.is_empty:
                pass
            elif own is not None and own.name == request.place:
                await self._repository.bring(path, part, own.path, own.handing)
            else:
                bundle = await self._store.put_from(partial(self._repository.send, path, part))
            sent = SentBase(bundle=bundle, ends=await put_ends(self._store, part.ends))
        self._fail_point("after-send")
        return sent

    async def _put(self, rules: AttributeRules) -> Digest | None:
        if rules == AttributeRules():
            return None
        return await self._store.put(rules.model_dump_json().encode())

    async def _copied(
        self, facts: RepositoryFacts, worktree: WorktreeConfig
    ) -> tuple[CopiedFile, ...]:
        entries = read_copies(self._repository, facts.root, worktree, is_bare=facts.is_bare)
        return tuple([await self._kept(entry) async for entry in entries])

    async def _kept(self, entry: CopiedEntry) -> CopiedFile:
        if not entry.is_one_file:
            content = await self._store.put(packed(entry.files))
            return CopiedFile(path=entry.entry, content=content, executable=False, kind="archive")
        (file,) = entry.files
        content = await self._store.put(file.content)
        return CopiedFile(path=file.path, content=content, executable=file.executable)


class ImportActivities:
    """Activities `repository.await` and `repository.import`, in role `host`."""

    def __init__(self, host: Host) -> None:
        self._host = host

    @activity.defn(name="repository.await")
    async def await_base(self, request: AwaitBase) -> AwaitedBase:
        """Make the host's own repository if it is missing, and say what it lacks."""
        with mapped():
            found = await self._host.history(request.key).await_base(request.commit)
            ends = await put_ends(self._host.store, found.ends or None)
        return AwaitedBase(is_there=found.is_there, known=found.known, place=found.place, ends=ends)

    @activity.defn(name="repository.import")
    async def import_base(self, request: ImportBase) -> ImportedBase:
        """Fill the host's own repository and look for gates.

        Raises:
            ApplicationError: RepositoryRefused, where the disk is too small or the bundle is bad;
                BaseLacking, where the base did not come whole.
        """
        commits = self._host.commits(request.key)
        with mapped():
            await self._take_in(self._host.history(request.key), request)
        free = await self._host.worktrees(request.key).free_bytes()
        if free < request.disk_bytes:
            raise _refused(
                f"the host {self._host.name!r} has {free >> 20} MiB free and the session may need "
                f"{request.disk_bytes >> 20} MiB; free some, or lower `concurrency.develop`"
            )
        paths = list(await commits.paths(request.commit))
        wanted = {*files_to_read(paths), *SAYING}
        contents = await _read(commits, request.commit, paths, wanted)
        gates = request.gates if request.gates is not None else detect_gates(contents)
        faults = [fault for gate in gates if (fault := pipe_fault(gate.argv))]
        kept = await self._host.history(request.key).kept_commits(request.commit, request.shallow)
        cut = () if kept is None else (cut_sentence(kept),)
        brief = brief_of(contents, gates, (*request.unfilled, *cut))
        told = tuple(f"{sentence}; {_UNCUT}" for sentence in cut)
        return ImportedBase(gates=gates, warnings=(*told, *faults), brief=brief)

    async def _take_in(self, history: SessionHistory, request: ImportBase) -> None:
        await self._import_history(history, request)
        if request.names is not None:
            await history.import_names(await self._host.store.get(request.names))
        told = request.excludes
        await history.import_excludes(b"" if told is None else await self._host.store.get(told))
        kept = b"{}" if request.rules is None else await self._host.store.get(request.rules)
        await history.import_rules(AttributeRules.model_validate_json(kept))

    async def _import_history(self, history: SessionHistory, request: ImportBase) -> None:
        ends = request.shallow
        if request.ends is not None:
            ends = await read_ends(self._host.store, request.ends)
        asked = HistoryImport(request.commit, request.session, ends)
        found = await history.await_base(request.commit)
        if request.bundle is None or (found.is_there and not found.ends):
            await history.import_base(asked)
        else:
            try:
                async with self._host.store.opened(request.bundle) as bundle:
                    await history.import_base(replace(asked, bundle=bundle))
            except BlobMissingError as error:
                # Another session's import may have discarded the same bundle on another host.
                raise PrerequisiteMissingError(f"{error}; send the base again") from error
        self._host.fail_point("after-import")
        if request.bundle is not None:
            await self._host.store.discard(request.bundle)


async def put_ends(store: BlobStore, ends: tuple[Commit, ...] | None) -> Digest | None:
    """Store the commits with which histories end, which can be too many for a message."""
    return None if ends is None else await store.put("\n".join(ends).encode())


async def read_ends(store: BlobStore, ends: Digest | None) -> tuple[Commit, ...]:
    """Return the commits with which histories end."""
    return () if ends is None else tuple(map(Commit, (await store.get(ends)).decode().split()))


async def _read(
    commits: CommitReader, commit: Commit, paths: list[str], wanted: set[str]
) -> dict[str, bytes]:
    contents = dict.fromkeys(paths, b"")
    for path in sorted(wanted & set(paths)):
        contents[path] = await commits.read_file(commit, path) or b""
    return contents


def _refused(text: str) -> ApplicationError:
    return ApplicationError(text, type=FailureType.REPOSITORY_REFUSED, non_retryable=True)
