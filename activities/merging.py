"""Merging on the host: merge-tree decides, a compare-and-swap moves the session's own ref."""

from temporalio import activity

from activities.activity_failures import mapped
from activities.ports.host_repository import Merged, MergePart
from activities.repository.host_data import Host
from activities.text.commit_subjects import with_short_subject
from workflows.contracts.host_contracts import (
    AdvanceBranch,
    Advanced,
    MergeCommits,
    MergeConflict,
    MergedCommits,
    MergeOutcome,
)

_TEXT_CHARACTERS = 4_000
_PATHS_TOLD = 100


class MergingActivities:
    """Activities `merging.merge` and `merging.advance`."""

    def __init__(self, host: Host) -> None:
        self._host = host

    @activity.defn(name="merging.merge")
    async def merge(self, request: MergeCommits) -> MergeOutcome:
        """Merge the commits in order; no ref moves and no worktree is involved."""
        history = self._host.history(request.key)
        subject = with_short_subject(f"Merge {request.title}")
        message = f"{subject}\n\nBlueflame-Session: {request.session}"
        parts = tuple(MergePart(commit=commit, message=message) for commit in request.commits)
        with mapped():
            outcome = await history.merge(request.head, parts, request.at)
        self._host.fail_point("after-merge")
        if isinstance(outcome, Merged):
            return MergedCommits(commit=outcome.commit, tree=outcome.tree)
        text = f"{', '.join(outcome.kinds)}\n" + "\n".join(outcome.messages)
        return MergeConflict(
            commit=outcome.commit,
            paths=outcome.paths[:_PATHS_TOLD],
            text=text[:_TEXT_CHARACTERS],
        )

    @activity.defn(name="merging.advance")
    async def advance(self, request: AdvanceBranch) -> Advanced:
        """Bundle what is new since the base, then move `refs/blueflame/<session>/merged`.

        The ref comes last: moved by an advance that then failed (a full disk), it would fence off
        every later one, for a merge that is made again is another commit.

        Raises:
            ApplicationError: Fenced, where the ref holds something else.
        """
        history = self._host.history(request.key)
        ref = f"refs/blueflame/{request.session}/merged"
        old = None if request.old == request.base else request.old
        with mapped():
            bundle = await history.bundle(request.new, request.base)
            digest = await self._host.store.put(bundle)
            await history.advance(ref, request.new, old)
        self._host.fail_point("after-advance")
        return Advanced(bundle=digest)
