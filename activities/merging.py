"""Merging on the host: merge-tree decides, a compare-and-swap moves the session's own ref."""

from temporalio import activity

from activities.activity_failures import mapped
from activities.ports.git_errors import RefMovedError
from activities.ports.host_repository import SessionHistory
from activities.ports.merge_values import Merged, MergePart, Rebase
from activities.repository.host_data import Host
from activities.repository.merged_tree import merge_faults
from workflows.contracts.merging_contracts import (
    AdvanceBranch,
    Advanced,
    BundleBranch,
    BundledBranch,
    MergeCommits,
    MergeConflict,
    MergedCommits,
    MergeOutcome,
    RebasedWork,
    RebaseWork,
)
from workflows.domain.ids import Commit, Digest
from workflows.policy.delivery.commit_message import shortened

_TEXT_CHARACTERS = 4_000
_PATHS_TOLD = 100


class MergingActivities:
    """Activities `merging.merge`, `merging.rebase`, `merging.advance` and `merging.bundle`."""

    def __init__(self, host: Host) -> None:
        self._host = host

    @activity.defn(name="merging.merge")
    async def merge(self, request: MergeCommits) -> MergeOutcome:
        """Merge the commits in order; no ref moves and no worktree is involved."""
        history = self._host.history(request.key)
        subject = shortened(f"Merge {request.title}")
        message = f"{subject}\n\nBlueflame-Session: {request.session}"
        parts = tuple(MergePart(commit=commit, message=message) for commit in request.commits)
        with mapped():
            outcome = await history.merge(request.head, parts, request.at)
        self._host.fail_point("after-merge")
        if isinstance(outcome, Merged):
            return await self._checked(request, outcome)
        lines = (", ".join(outcome.kinds), *outcome.messages)
        return _conflict(outcome.commit, outcome.paths, lines)

    async def _checked(self, request: MergeCommits, merged: Merged) -> MergeOutcome:
        """Take what git merged for a conflict where the two sides do not go together."""
        commits = self._host.commits(request.key)
        heads = (request.head, *merged.heads)
        for head, part, joined in zip(heads, request.commits, merged.heads, strict=False):
            with mapped():
                faults = await merge_faults(commits, head, part, joined)
            if faults:
                kinds = ", ".join(sorted({each.kind for each in faults}))
                lines = (kinds, *(f"{each.path}: {each.text}" for each in faults))
                return _conflict(part, tuple(each.path for each in faults), lines)
        return MergedCommits(commit=merged.commit, tree=merged.tree)

    @activity.defn(name="merging.rebase")
    async def rebase(self, request: RebaseWork) -> RebasedWork:
        """Bring earlier work onto a new base, with conflict markers where both sides differ."""
        message = f"{request.title}\n\nBlueflame-Session: {request.session}"
        asked = Rebase(
            base=request.base,
            work=request.work,
            work_base=request.work_base,
            message=message,
            when=request.at,
        )
        with mapped():
            done = await self._host.history(request.key).rebase(asked)
        conflicts = "\n".join(done.messages)[:_TEXT_CHARACTERS]
        return RebasedWork(commit=done.commit, conflicts=conflicts)

    @activity.defn(name="merging.advance")
    async def advance(self, request: AdvanceBranch) -> Advanced:
        """Bundle what is new, if asked to, then move `refs/blueflame/<session>/merged`.

        The ref comes last: moved by an advance that then failed (a full disk), it would fence off
        every later one, for a merge that is made again is another commit.

        A wave that was terminated, or a session that was reset, may have merged the same before.
        Its commit, with the same tree, then stands for the new one: nothing is merged twice.

        Raises:
            ApplicationError: Fenced, where the ref holds something else.
        """
        history = self._host.history(request.key)
        ref = f"refs/blueflame/{request.session}/merged"
        old = None if request.old == request.base else request.old
        with mapped():
            bundle = await self._bundle(history, request.new, request.since)
            try:
                await history.advance(ref, request.new, old)
            except RefMovedError:
                before = await self._merged_before(request, ref)
                if before is None:
                    raise
                return before
        self._host.fail_point("after-advance")
        return Advanced(bundle=bundle)

    @activity.defn(name="merging.bundle")
    async def bundle(self, request: BundleBranch) -> BundledBranch:
        """Bundle the branch for a repository that lacks more than the last wave's work."""
        history = self._host.history(request.key)
        with mapped():
            data = await history.bundle(request.head, request.since)
            return BundledBranch(bundle=await self._host.store.put(data))

    async def _bundle(
        self, history: SessionHistory, head: Commit, since: Commit | None
    ) -> Digest | None:
        if since is None:
            return None
        return await self._host.store.put(await history.bundle(head, since))

    async def _merged_before(self, request: AdvanceBranch, ref: str) -> Advanced | None:
        history = self._host.history(request.key)
        tree = await self._host.commits(request.key).tree_of(request.new)
        head = await history.merged_before(ref, request.old, tree)
        if head is None:
            return None
        return Advanced(bundle=await self._bundle(history, head, request.since), head=head)


def _conflict(commit: Commit, paths: tuple[str, ...], lines: tuple[str, ...]) -> MergeConflict:
    text = "\n".join(lines)
    return MergeConflict(commit=commit, paths=paths[:_PATHS_TOLD], text=text[:_TEXT_CHARACTERS])
