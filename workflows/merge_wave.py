"""The merge wave: approved changesets, in dependency order, onto the session's branch.

One at a time: merge-tree, gates on the merged tree, compare-and-swap. Where the gates fail,
bisection finds the task with which they begin to fail.
"""

from temporalio import workflow
from temporalio.exceptions import ActivityError, is_cancelled_exception

from workflows.agent_lifecycle import failure_text
from workflows.cancellation import is_cancelled
from workflows.contracts.gate_contracts import gates_on, run_gates
from workflows.contracts.land_contracts import (
    DELIVER_BRANCH,
    DeliverBranch,
    Delivered,
    DeliveryLacking,
    DeliveryOutcome,
    DeliveryRefused,
)
from workflows.contracts.merging_contracts import (
    ADVANCE_BRANCH,
    BUNDLE_BRANCH,
    MERGE_COMMITS,
    AdvanceBranch,
    BundleBranch,
    MergeCommits,
    MergeConflict,
    MergeOutcome,
)
from workflows.domain.gate import GateReport
from workflows.domain.ids import Commit, Digest, Tree
from workflows.domain.session.wave_values import (
    HeldChangeset,
    MergedChangeset,
    MergeItem,
    MergeRequest,
    MergeResult,
    QueuedChangeset,
    ReturnedChangeset,
    UnjudgedChangeset,
)
from workflows.errors import INTERNAL_ERRORS
from workflows.policy.gates.chosen_gates import as_baseline
from workflows.policy.gates.gate_comparison import GateDecision, judge_gates


@workflow.defn(name="MergeWave", failure_exception_types=INTERNAL_ERRORS)
class MergeWave:
    """Purpose: head only moves to a tree with green gates. No signals; carries nothing over."""

    @workflow.init
    def __init__(self, request: MergeRequest) -> None:
        self._request = request
        self._head = request.head
        self._green: frozenset[Tree] = frozenset(request.green)
        self._baseline: GateReport | None = None
        self._bundle: Digest | None = None
        self._merged: list[Commit] = []
        self._delivery = Delivered(branch="")

    @workflow.run
    async def run(self, request: MergeRequest) -> MergeResult:
        """Merge the changesets that merge, return the others with notes, and deliver the branch.

        What is delivered is bundled once a wave, and holds only what the person's repository lacks:
        the cost of a wave depends on what it merges, not on what was merged before. The last
        advance makes that bundle. A wave whose last changeset does not merge asks for it.

        If stopped, it still delivers the changesets merged so far: they were approved.
        """
        items: list[MergeItem] = []
        try:
            for changeset in request.queue:
                items.append(await self._guarded(changeset))  # noqa: PERF401 (kept when cancelled)
            delivered, branch, refused = await self._deliver()
        except BaseException as error:
            if not is_cancelled_exception(error):
                raise
            # A delivery may have been under way: do not deliver the same work twice.
            delivered, branch, refused = await self._deliver()
        return MergeResult(
            items=tuple(items),
            head=self._head,
            baseline=self._baseline,
            delivered=delivered,
            branch=branch,
            delivery_refused=refused,
            landed=self._delivery.commits,
            delivery_notice=self._delivery.notice[:1_000],
        )

    async def _guarded(self, changeset: QueuedChangeset) -> MergeItem:
        try:
            return await self._one(changeset)
        except ActivityError as error:
            if is_cancelled():
                raise
            return HeldChangeset(id=changeset.id, reason=failure_text(error))

    async def _one(self, changeset: QueuedChangeset) -> MergeItem:
        merged = await self._merge(changeset, len(changeset.commits))
        if isinstance(merged, MergeConflict):
            task = changeset.tasks[changeset.commits.index(merged.commit)]
            return ReturnedChangeset(
                id=changeset.id, task=task, by="conflict", notes=_conflict_notes(merged)
            )
        report, remarks = None, ""
        if merged.tree not in self._green:
            report = await self._gates(changeset, merged.commit)
            decision = self._judge(report)
            if not decision.passes:
                return await self._culprit(changeset, decision.notes)
            if changeset.needs_judged and not decision.judgement.by:
                return UnjudgedChangeset(id=changeset.id, judgement=decision.judgement)
            remarks = decision.remarks
        await self._advance(changeset, merged.commit)
        if report is not None:
            self._baseline = as_baseline(self._baseline or self._request.baseline, report)
        return MergedChangeset(id=changeset.id, head=self._head, gate_remarks=remarks)

    async def _merge(self, changeset: QueuedChangeset, count: int) -> MergeOutcome:
        """Merge the first commits of a changeset onto the head."""
        grounds = self._request.grounds
        merge = MergeCommits(
            session=grounds.session,
            key=grounds.key,
            head=self._head,
            commits=changeset.commits[:count],
            title=changeset.title,
            at=workflow.now(),
        )
        of = "" if count == len(changeset.commits) else f"the first {count} of "
        return await MERGE_COMMITS.ask(merge, f"merge {of}{changeset.id}", queue=grounds.host_queue)

    async def _culprit(self, changeset: QueuedChangeset, notes: str) -> ReturnedChangeset:
        """Find the change that makes the gates fail, by running them without the rest.

        The tasks are in dependency order, so every prefix can be judged alone. The empty prefix is
        the head, which passes; the whole fails; bisection finds the change between them.
        """
        passes, fails = 0, len(changeset.tasks)
        while fails - passes > 1:
            middle = (passes + fails) // 2
            found = await self._failure(changeset, middle)
            if found is None:
                passes = middle
            else:
                fails, notes = middle, found
        task = changeset.tasks[fails - 1]
        before = ", ".join(changeset.tasks[: fails - 1])
        beside = f" together with {before}, which passes without it" if before else ""
        text = f"On what is merged{beside}, the checks fail:\n{notes}"
        return ReturnedChangeset(id=changeset.id, task=task, by="gate", notes=text)

    async def _failure(self, changeset: QueuedChangeset, count: int) -> str | None:
        """Return what fails with only the first tasks of a changeset; None: nothing."""
        merged = await self._merge(changeset, count)
        if isinstance(merged, MergeConflict):
            return _conflict_notes(merged)
        if merged.tree in self._green:
            return None
        decision = self._judge(await self._gates(changeset, merged.commit))
        return None if decision.passes else decision.notes

    def _judge(self, report: GateReport) -> GateDecision:
        return judge_gates(self._baseline or self._request.baseline, report)

    async def _gates(self, changeset: QueuedChangeset, commit: Commit) -> GateReport:
        grounds = self._request.grounds
        baseline = self._baseline or self._request.baseline
        request = gates_on(grounds, commit, baseline, since=self._head)
        summary = f"gates on the merged tree with {changeset.id}"
        return await run_gates(request, summary, grounds.host_queue)

    async def _advance(self, changeset: QueuedChangeset, new: Commit) -> None:
        grounds = self._request.grounds
        advance = AdvanceBranch(
            session=grounds.session,
            key=grounds.key,
            base=self._request.base,
            old=self._head,
            new=new,
            since=self._since if changeset.id == self._request.queue[-1].id else None,
        )
        advanced = await ADVANCE_BRANCH.ask(
            advance, f"advance the session's branch to {changeset.id}", queue=grounds.host_queue
        )
        self._head = advanced.head or new
        self._merged.append(self._head)
        self._bundle = advanced.bundle

    async def _deliver(self) -> tuple[Commit | None, str | None, str]:
        """Move the branch in the person's repository; if refused, the work stays on the host."""
        before = self._request.delivered
        if self._head == self._request.head:
            return before, self._branch(before), ""
        try:
            bundle = self._bundle or await self._bundled(self._head, self._since)
            outcome = await self._delivered(bundle)
            if isinstance(outcome, DeliveryLacking):
                base = self._request.base
                bundle = await self._bundled(self._head, base)
                outcome = await self._delivered(bundle, await self._bundled(base, None))
        except ActivityError as error:
            if is_cancelled_exception(error) and is_cancelled():
                raise
            return before, self._branch(before), failure_text(error)
        match outcome:
            case Delivered():
                self._delivery = outcome
                return self._head, outcome.branch, ""
            case DeliveryRefused():
                return before, self._branch(before), outcome.reason
            case DeliveryLacking():
                return before, self._branch(before), _LACKING

    @property
    def _since(self) -> Commit:
        """The newest commit that the person's repository has of the branch."""
        return self._request.delivered or self._request.base

    async def _bundled(self, head: Commit, since: Commit | None) -> Digest:
        grounds = self._request.grounds
        bundle = BundleBranch(key=grounds.key, head=head, since=since)
        what = "bundle what the repository lacks of the branch"
        return (await BUNDLE_BRANCH.ask(bundle, what, grounds.host_queue, is_last=True)).bundle

    async def _delivered(self, bundle: Digest, base: Digest | None = None) -> DeliveryOutcome:
        deliver = DeliverBranch(
            session=self._request.grounds.session,
            repository=self._request.repository,
            bundle=bundle,
            old=self._request.landed or self._request.delivered,
            new=self._head,
            base=base,
            commits=self._request.grounds.commits,
            since=self._request.base,
            source=self._request.delivered,
            heads=(*self._request.undelivered, *self._merged),
        )
        return await DELIVER_BRANCH.ask(
            deliver, "deliver the branch to the repository", is_last=True
        )

    def _branch(self, delivered: Commit | None) -> str | None:
        return f"blueflame/{self._request.grounds.session}" if delivered else None


_LACKING = (
    "the repository lacks commits that the branch builds on, although they were sent; `git fsck` "
    "there tells more"
)


def _conflict_notes(conflict: MergeConflict) -> str:
    paths = ", ".join(conflict.paths)
    return (
        f"The work conflicts with what was merged before it, in: {paths}\n{conflict.text}\n"
        "Keep what is merged, and make the work fit it."
    )
