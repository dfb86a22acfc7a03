"""An agent's worktree: prepared before it, turned into a task commit after it, then removed."""

import re

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.activity_failures import mapped
from activities.ports.host_repository import TaskCommit, WorktreeStore
from activities.ports.sandbox_port import Limits, Sandbox, SandboxCommand, Workspace
from activities.repository.diff_check import check_diff
from activities.repository.host_data import (
    Host,
    checkpoint_ref,
    workspace,
    worktree_name,
    write_copied,
)
from activities.text.redaction import redact_bytes
from workflows.contracts.host_contracts import (
    FinishOutcome,
    FinishTask,
    LastCheckpoint,
    PrepareWorktree,
    RecordedCheckpoint,
    Removed,
    RemoveWorktree,
    RunGates,
    TaskCommitted,
    WorkRefused,
    WorktreeReady,
)
from workflows.domain.ids import Commit
from workflows.domain.repository import CopiedFile
from workflows.domain.violation import DiffRule, Violation
from workflows.errors import FailureType

_PATHS_TOLD = 200
_IGNORED_TOLD = 20
_FINDINGS_TOLD = 100
_NOTICES_TOLD = 20
_TAIL_BYTES = 2_000
_COMMAND_CHARS = 200
"""A view may show a thousand characters of a failure: what was not reached has to be among them."""
_LOOKED_FOR = re.compile(
    "name resolution|name or service not known|could not resolve|no address associated"
    "|network is unreachable|getaddrinfo|ENOTFOUND|EAI_AGAIN",
    re.IGNORECASE,
)
"""What programs say that find no network; it only adds a hint."""


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
        worktrees = self._host.worktrees(request.worktree.repository)
        name = worktree_name(request.worktree)
        with mapped():
            place = await worktrees.create_worktree(name, request.start)
            async with worktrees.lock(name) as hold:
                await worktrees.restore(name, request.start)
                await write_copied(self._host.store, place.path, request.copied)
                shown = workspace(place, request.worktree.environment, writable=True)
                await set_up(self._host.sandbox, shown, request, hold)
                if request.setup or request.copied:
                    await self._leave_no_trace(worktrees, name, request.start, request.copied)
        return WorktreeReady(checkpoint=request.start)

    async def _leave_no_trace(
        self,
        worktrees: WorktreeStore,
        name: str,
        start: Commit,
        copied: tuple[CopiedFile, ...],
    ) -> None:
        """Take back what set-up changed beside ignored files: it would pass for work."""
        changed = {change.path for change in (await worktrees.collect(name)).changes}
        if shown := sorted(changed & {file.path for file in copied}):
            raise _setup_failed(
                f"`worktree.copy` names {shown}, which git does not ignore: commit them instead"
            )
        if changed:
            await worktrees.restore(name, start)

    @activity.defn(name="worktrees.finish")
    async def finish(self, request: FinishTask) -> FinishOutcome:
        """Check what was collected and make the one commit of the task."""
        worktrees = self._host.worktrees(request.worktree.repository)
        commits = self._host.commits(request.worktree.repository)
        name = worktree_name(request.worktree)
        with mapped():
            async with worktrees.lock(name):
                await worktrees.restore(name, request.checkpoint)
                collected = await worktrees.collect(name)
                ignored = await worktrees.ignored(name, _IGNORED_TOLD)
            judged = await check_diff(commits, request, collected.findings)
            if judged.violations:
                findings = judged.violations[:_FINDINGS_TOLD]
                return WorkRefused(reason="violation", findings=findings)
            paths = [each.path for each in judged.changes]
            if not paths:
                return _empty(ignored)
            commit = await self._commit(request)
        return TaskCommitted(
            commit=commit,
            tree=collected.tree,
            paths=tuple(paths[:_PATHS_TOLD]),
            ignored=ignored,
            notices=judged.notices[:_NOTICES_TOLD],
        )

    async def _commit(self, request: FinishTask) -> Commit:
        key = request.worktree.repository
        history = self._host.history(key)
        trailers = (
            ("Blueflame-Session", str(request.worktree.session)),
            ("Blueflame-Task", str(request.task)),
            ("Blueflame-Attempt", str(request.attempt)),
        )
        tree = await self._host.commits(key).tree_of(request.checkpoint)
        commit = await history.squash(
            TaskCommit(
                base=request.base,
                tree=tree,
                message=request.title,
                trailers=trailers,
                when=request.at,
            )
        )
        ref = f"refs/blueflame/{request.worktree.session}/tasks/{request.task}"
        held = await history.tip(ref)
        await history.advance(ref, commit, held)
        return commit

    @activity.defn(name="worktrees.last")
    async def last(self, request: LastCheckpoint) -> RecordedCheckpoint:
        """Return what the agent's ref holds."""
        worktrees = self._host.worktrees(request.worktree.repository)
        with mapped():
            recorded = await worktrees.read_checkpoint(checkpoint_ref(request.worktree))
        return RecordedCheckpoint(checkpoint=recorded.commit if recorded else None)

    @activity.defn(name="worktrees.remove")
    async def remove(self, request: RemoveWorktree) -> Removed:
        """Remove the files; the checkpoints stay under the agent's ref."""
        worktrees = self._host.worktrees(request.worktree.repository)
        with mapped():
            await worktrees.remove_worktree(worktree_name(request.worktree))
        return Removed()


async def set_up(
    sandbox: Sandbox, tree: Workspace, request: PrepareWorktree | RunGates, hold: int
) -> tuple[str, ...]:
    """Run the set-up commands in the sandbox; only they may reach what `worktree.network` lists.

    Args:
        sandbox: the host's.
        tree: the worktree or checkout; it holds the copied files already.
        request: says what to run and which hosts may be reached.
        hold: the tree's lock.

    Returns:
        What they asked of the network and did not get, though all went well.

    Raises:
        ApplicationError: SetupFailed, with what they did not get.
    """
    refusals: dict[str, None] = {}
    for argv in request.setup:
        command = SandboxCommand(
            argv=argv,
            workspace=tree,
            limits=Limits.within(tree.environment, Limits().timeout * 5),
            network=request.network,
        )
        ran = await sandbox.run(command, hold)
        refusals |= dict.fromkeys(ran.refusals)
        if ran.end != "exited" or ran.code != 0:
            tail = redact_bytes(ran.output)[-_TAIL_BYTES:].decode("utf-8", "replace")
            said = ran.refusals or _hint(request.network, tail)
            what = f"set-up command {repr(argv)[:_COMMAND_CHARS]} {ran.end} with {ran.code}:"
            lines = (what, *said, tail)
            raise _setup_failed("\n".join(lines))
    for text in refusals:
        activity.logger.warning("set-up went well, but %s", text)
    return tuple(refusals)[:_NOTICES_TOLD]


def _hint(network: tuple[str, ...], output: str) -> tuple[str, ...]:
    """Say, where a program looked in vain for a network, why it found none."""
    if not _LOOKED_FOR.search(output):
        return ()
    if network:
        return ("set-up reaches a network only through HTTP_PROXY and HTTPS_PROXY",)
    return ("in a sandbox set-up has no network where 'worktree.network' lists no host",)


def _empty(ignored: tuple[str, ...]) -> WorkRefused:
    beside = f" outside ignored paths: {', '.join(ignored)}" if ignored else ""
    finding = Violation(rule=DiffRule.EMPTY, text=f"nothing was changed{beside}")
    return WorkRefused(reason="empty", findings=(finding,))


def _setup_failed(text: str) -> ApplicationError:
    return ApplicationError(text, type=FailureType.SETUP_FAILED, non_retryable=True)
