"""An agent's worktree: prepared before it, turned into a task commit after it, then removed."""

from collections.abc import Sequence

from temporalio import activity

from activities.activity_failures import mapped
from activities.ports.host_repository import WorktreeStore
from activities.ports.timed_parts import parts_taken
from activities.repository.copy_archive import copied_paths
from activities.repository.diff_check import check_diff
from activities.repository.host_data import (
    Host,
    checkpoint_ref,
    worktree_name,
)
from activities.repository.task_commits import TaskCommits
from activities.setup_once.set_up import SetUpTree
from activities.setup_once.setup_commands import SetUp, setup_failed
from workflows.contracts.host_contracts import (
    FinishOutcome,
    FinishTask,
    LastCheckpoint,
    PrepareWorktree,
    ReadTurn,
    RecordedCheckpoint,
    Removed,
    RemoveWorktree,
    TaskCommitted,
    TurnRead,
    WorkRefused,
    WorktreeReady,
)
from workflows.domain.ids import Commit
from workflows.domain.repository import CopiedFile
from workflows.domain.violation import DiffRule, Violation

_PATHS_TOLD = 200
_IGNORED_TOLD = 20
_FINDINGS_TOLD = 100
_NOTICES_TOLD = 20
_COPIES_TOLD = 5


class WorktreeActivities:
    """Activities `worktrees.prepare`, `.finish`, `.last`, `.turn` and `.remove`."""

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
        with mapped(), parts_taken() as parts:
            place = await worktrees.create_worktree(name, request.start)
            async with worktrees.lock(name) as hold:
                writes = bool(request.setup or request.copied)
                await worktrees.restore(name, request.start, is_used=writes)
                tree = SetUpTree(self._host, _set_up(request), name, request.start)
                await tree.prepare(place, hold)
                if writes:
                    await self._leave_no_trace(worktrees, name, request.start, request.copied)
                    await worktrees.mark_ignored(name, tree.kept_paths)
        return WorktreeReady(checkpoint=request.start, parts=tuple(parts.found))

    async def _leave_no_trace(
        self,
        worktrees: WorktreeStore,
        name: str,
        start: Commit,
        copied: tuple[CopiedFile, ...],
    ) -> None:
        """Take back what set-up changed beside ignored files: it would pass for work."""
        changed = {change.path for change in (await worktrees.collect(name)).changes}
        names = await copied_paths(self._host.store, copied) if copied else frozenset[str]()
        if met := sorted(changed & names):
            raise setup_failed(
                f"`worktree.copy` brings {met[:_COPIES_TOLD]}, which git tracks or does not ignore "
                "in the base: commit the `.gitignore` that says so, or commit the files instead"
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
                collected = await worktrees.collect_at(name, request.checkpoint)
                ignored = await worktrees.ignored(name, _IGNORED_TOLD)
            judged = await check_diff(commits, request, collected.findings)
            if judged.violations:
                findings = judged.violations[:_FINDINGS_TOLD]
                return WorkRefused(reason="violation", findings=findings)
            paths = [each.path for each in judged.changes]
            if not paths:
                return _empty(ignored)
            commit = await self._commit(request, paths)
        return TaskCommitted(
            commit=commit,
            tree=collected.tree,
            paths=tuple(paths[:_PATHS_TOLD]),
            ignored=ignored,
            notices=judged.notices[:_NOTICES_TOLD],
        )

    async def _commit(self, request: FinishTask, paths: Sequence[str]) -> Commit:
        history = self._host.history(request.worktree.repository)
        commits = TaskCommits(self._host, request)
        commit = await commits.make(await commits.message(paths))
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

    @activity.defn(name="worktrees.turn")
    async def turn(self, request: ReadTurn) -> TurnRead:
        """Find the checkpoint of one turn beneath what the agent's ref holds."""
        worktrees = self._host.worktrees(request.worktree.repository)
        with mapped():
            ref = checkpoint_ref(request.worktree)
            recorded = await worktrees.recorded_turns(ref, request.worktree.session, request.task)
        if recorded is None:
            return TurnRead(checkpoint=None)
        agent = request.worktree.agent
        own = {each.turn: each.commit for each in recorded.turns if each.agent == agent}
        turns = tuple(sorted(own))
        return TurnRead(checkpoint=own.get(request.turn), base=recorded.base, turns=turns)

    @activity.defn(name="worktrees.remove")
    async def remove(self, request: RemoveWorktree) -> Removed:
        """Remove the files; the checkpoints stay under the agent's ref."""
        worktrees = self._host.worktrees(request.worktree.repository)
        with mapped():
            await worktrees.remove_worktree(worktree_name(request.worktree))
        return Removed()


def _set_up(request: PrepareWorktree) -> SetUp:
    return SetUp(
        session=request.worktree.session,
        key=request.worktree.repository,
        commands=request.setup,
        timeout=request.setup_timeout,
        network=request.network,
        copied=request.copied,
        environment=request.worktree.environment,
    )


def _empty(ignored: tuple[str, ...]) -> WorkRefused:
    beside = f" outside ignored paths: {', '.join(ignored)}" if ignored else ""
    finding = Violation(rule=DiffRule.EMPTY, text=f"nothing was changed{beside}")
    return WorkRefused(reason="empty", findings=(finding,))
