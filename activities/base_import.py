"""The base: exported once with the person's rights, imported on the host."""

import asyncio
import contextlib
import os
import stat
from pathlib import Path

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.activity_failures import mapped
from activities.gates.detection import detect_gates, files_to_read
from activities.ports.blob_store_port import BlobStore
from activities.ports.host_repository import CommitReader, SessionHistory
from activities.ports.user_repository import BaseBundle, RepositoryFacts, UserRepository
from activities.repository import copied_files
from activities.repository.host_data import Host
from activities.repository.repository_brief import SAYING, brief_of
from activities.repository.repository_warnings import unfilled, warnings_of
from activities.repository.safe_open import open_inside
from workflows.contracts.host_contracts import ImportBase, ImportedBase
from workflows.contracts.land_contracts import ExportBase
from workflows.domain.ids import Commit
from workflows.domain.repository import Base, CopiedFile
from workflows.domain.session.session_config import WorktreeConfig
from workflows.errors import FailureType
from workflows.policy.gates.pipe_faults import pipe_fault


class ExportActivities:
    """Activity `repository.export`, in role `land`."""

    def __init__(self, repository: UserRepository, store: BlobStore) -> None:
        self._repository = repository
        self._store = store

    @activity.defn(name="repository.export")
    async def export(self, request: ExportBase) -> Base:
        """Check the person's repository and bundle the base; nothing there is changed.

        Raises:
            ApplicationError: RepositoryRefused, in words for a person.
        """
        with mapped():
            facts = await self._repository.inspect(
                Path(request.repository), request.base, request.session
            )
            bundle = await self._repository.export(facts.root, facts.base)
        return Base(
            repository=str(facts.root),
            key=facts.key,
            bundle=await self._store.put(bundle.bundle),
            names=await self._store.put(bundle.names) if bundle.names else None,
            shallow=bundle.shallow,
            commit=facts.base,
            tree=facts.tree,
            branch=facts.base_branch,
            files=facts.file_count,
            tree_bytes=facts.tree_bytes,
            copied=await self._copied(facts, request.worktree),
            warnings=warnings_of(facts),
            unfilled=unfilled(facts),
        )

    async def _copied(
        self, facts: RepositoryFacts, worktree: WorktreeConfig
    ) -> tuple[CopiedFile, ...]:
        if worktree.copies and facts.is_bare:
            raise _refused("`worktree.copy` needs a checkout, and this repository is bare")
        return tuple([await self._copy(facts.root, path, worktree) for path in worktree.copies])

    async def _copy(self, root: Path, path: str, worktree: WorktreeConfig) -> CopiedFile:
        if fault := copied_files.refuse(path, 0, worktree.allow_secret):
            raise _refused(fault)
        status, content = await asyncio.to_thread(_read_copy, root, path, worktree)
        if fault := copied_files.refuse_content(path, content, worktree.allow_secret):
            raise _refused(fault)
        return CopiedFile(
            path=path,
            content=await self._store.put(content),
            executable=bool(status.st_mode & stat.S_IXUSR),
        )


def _read_copy(root: Path, path: str, worktree: WorktreeConfig) -> tuple[os.stat_result, bytes]:
    """Read one file with the person's rights; judged is what was opened, not what has its name."""
    try:
        descriptor = open_inside(root, path, os.O_RDONLY)
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) else error
        raise _refused(
            f"`worktree.copy` names {path!r}: {said}; no link on its way is followed"
        ) from error
    with contextlib.ExitStack() as stack:
        stack.callback(os.close, descriptor)
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise _refused(f"`worktree.copy` names {path!r}, which is not a regular file")
        if fault := copied_files.refuse(path, status.st_size, worktree.allow_secret):
            raise _refused(fault)
        stack.pop_all()
        with os.fdopen(descriptor, "rb") as file:
            return status, file.read(status.st_size)


class ImportActivities:
    """Activity `repository.import`, in role `host`."""

    def __init__(self, host: Host) -> None:
        self._host = host

    @activity.defn(name="repository.import")
    async def import_base(self, request: ImportBase) -> ImportedBase:
        """Fill the host's own repository and look for gates.

        Raises:
            ApplicationError: RepositoryRefused, where the disk is too small or the bundle is bad.
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
        brief = brief_of(contents, gates, request.unfilled)
        return ImportedBase(gates=gates, warnings=tuple(faults), brief=brief)

    async def _take_in(self, history: SessionHistory, request: ImportBase) -> None:
        base = None
        if not await history.has_base(request.commit):
            data = await self._host.store.get(request.bundle)
            base = BaseBundle(bundle=data, shallow=request.shallow)
        await history.import_base(base, request.commit, request.session)
        if request.names is not None:
            await history.import_names(await self._host.store.get(request.names))


async def _read(
    commits: CommitReader, commit: Commit, paths: list[str], wanted: set[str]
) -> dict[str, bytes]:
    contents = dict.fromkeys(paths, b"")
    for path in sorted(wanted & set(paths)):
        contents[path] = await commits.read_file(commit, path) or b""
    return contents


def _refused(text: str) -> ApplicationError:
    return ApplicationError(text, type=FailureType.REPOSITORY_REFUSED, non_retryable=True)
