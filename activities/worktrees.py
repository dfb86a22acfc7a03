"""An agent's worktree: prepared before it, turned into a task commit after it, then removed."""

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.failures import mapped
from activities.host import Host, checkpoint_ref, workspace, worktree_name, write_copied
from activities.ports.git import HostRepository, TaskCommit, WorktreePlace
from activities.ports.sandbox import Limits, SandboxCommand
from activities.redaction import redact_bytes
from workflows.contracts import (
    CopiedFile,
    FinishOutcome,
    FinishTask,
    LastCheckpoint,
    PrepareWorktree,
    RecordedCheckpoint,
    Removed,
    RemoveWorktree,
    TaskCommitted,
    WorkRefused,
    WorktreeReady,
)
from workflows.domain.ids import Commit
from workflows.errors import FailureType
from workflows.policy.protection import denies

_PATHS_TOLD = 200
_IGNORED_TOLD = 20
_FINDINGS_TOLD = 30
_TAIL_BYTES = 2_000


class WorktreeActivities:
    """Activities `worktrees.prepare`, `worktrees.finish`, `worktrees.remove`."""

    def __init__(self, host: Host) -> None:
        self._host = host

    @activity.defn(name="worktrees.prepare")
    async def prepare(self, request: PrepareWorktree) -> WorktreeReady:
        """Make the worktree at its start, with copied files and set-up; repeating it is safe.

        Raises:
            ApplicationError: SetupFailed, with the command and the end of its output.
        """
        repository = self._host.repository(request.worktree.repository)
        name = worktree_name(request.worktree)
        with mapped():
            place = await repository.create_worktree(name, request.start)
            async with repository.lock(name) as hold:
                await repository.restore(name, request.start)
                await set_up(self._host, place, request.setup, request.copied, hold)
                if request.setup or request.copied:
                    await self._leave_no_trace(repository, name, request.start, request.copied)
        return WorktreeReady(checkpoint=request.start)

    async def _leave_no_trace(
        self,
        repository: HostRepository,
        name: str,
        start: Commit,
        copied: tuple[CopiedFile, ...],
    ) -> None:
        """Take back what set-up changed beside ignored files: it would pass for work."""
        changed = {change.path for change in (await repository.collect(name)).changes}
        if shown := sorted(changed & {file.path for file in copied}):
            raise _setup_failed(
                f"`worktree.copy` names {shown}, which git does not ignore: commit them instead"
            )
        if changed:
            await repository.restore(name, start)

    @activity.defn(name="worktrees.finish")
    async def finish(self, request: FinishTask) -> FinishOutcome:
        """Check what was collected and make the one commit of the task."""
        repository = self._host.repository(request.worktree.repository)
        name = worktree_name(request.worktree)
        with mapped():
            async with repository.lock(name):
                await repository.restore(name, request.checkpoint)
                collected = await repository.collect(name)
                ignored = await repository.ignored(name, _IGNORED_TOLD)
            paths = [
                each.path
                for each in await repository.changed_paths(request.base, request.checkpoint)
            ]
            findings = [f"{each.path}: {each.text}" for each in collected.findings]
            findings += [rule for path in paths if (rule := denies(path, request.claims))]
            if findings:
                return WorkRefused(reason="violation", findings=tuple(findings[:_FINDINGS_TOLD]))
            if not paths:
                return _empty(ignored)
            commit = await self._commit(repository, request)
        return TaskCommitted(
            commit=commit,
            tree=collected.tree,
            paths=tuple(paths[:_PATHS_TOLD]),
            ignored=ignored,
        )

    async def _commit(self, repository: HostRepository, request: FinishTask) -> Commit:
        trailers = (
            ("Blueflame-Session", str(request.worktree.session)),
            ("Blueflame-Task", str(request.task)),
            ("Blueflame-Attempt", str(request.attempt)),
        )
        tree = await repository.tree_of(request.checkpoint)
        commit = await repository.squash(
            TaskCommit(
                base=request.base,
                tree=tree,
                message=request.title,
                trailers=trailers,
                when=request.at,
            )
        )
        ref = f"refs/blueflame/{request.worktree.session}/tasks/{request.task}"
        held = (await repository.refs(request.worktree.session)).get(ref)
        await repository.advance(ref, commit, held)
        return commit

    @activity.defn(name="worktrees.last")
    async def last(self, request: LastCheckpoint) -> RecordedCheckpoint:
        """Return what the agent's ref holds."""
        repository = self._host.repository(request.worktree.repository)
        with mapped():
            recorded = await repository.read_checkpoint(checkpoint_ref(request.worktree))
        return RecordedCheckpoint(checkpoint=recorded.commit if recorded else None)

    @activity.defn(name="worktrees.remove")
    async def remove(self, request: RemoveWorktree) -> Removed:
        """Remove the files; the checkpoints stay under the agent's ref."""
        repository = self._host.repository(request.worktree.repository)
        with mapped():
            await repository.remove_worktree(worktree_name(request.worktree))
        return Removed()


async def set_up(
    host: Host,
    place: WorktreePlace,
    setup: tuple[tuple[str, ...], ...],
    copied: tuple[CopiedFile, ...],
    hold: int,
) -> None:
    """Write the copied files and run the set-up commands in the sandbox.

    Raises:
        ApplicationError: SetupFailed.
    """
    await write_copied(host.store, place.path, copied)
    for argv in setup:
        command = SandboxCommand(
            argv=argv,
            workspace=workspace(place, writable=True),
            limits=Limits(timeout=Limits().timeout * 5),
        )
        ran = await host.sandbox.run(command, hold)
        if ran.end != "exited" or ran.code != 0:
            tail = redact_bytes(ran.output)[-_TAIL_BYTES:].decode("utf-8", "replace")
            raise _setup_failed(f"set-up command {argv!r} {ran.end} with {ran.code}:\n{tail}")


def _empty(ignored: tuple[str, ...]) -> WorkRefused:
    if not ignored:
        return WorkRefused(reason="empty", findings=("nothing was changed",))
    text = f"nothing was changed outside ignored paths: {', '.join(ignored)}"
    return WorkRefused(reason="empty", findings=(text,))


def _setup_failed(text: str) -> ApplicationError:
    return ApplicationError(text, type=FailureType.SETUP_FAILED, non_retryable=True)
