"""Gates on one commit: fresh checkouts in the sandbox, and one rerun against flakes."""

import hashlib
import json
import os
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

from temporalio import activity

from activities.activity_failures import mapped
from activities.gates.execution import GateRunner
from activities.ports.blob_store_port import BlobMissingError
from activities.ports.sandbox_port import Limits
from activities.ports.timed_parts import parts_taken
from activities.repository.host_data import Host
from activities.setup_once.judged_tree import JudgedTree, judged_tree
from activities.setup_once.place_stamps import stamp, stamps
from workflows.contracts.gate_contracts import RunGates
from workflows.domain.gate import GateReport, GateResult, GateSpec
from workflows.domain.ids import Digest
from workflows.policy.gates.chosen_gates import Chosen, choose, in_order, spared
from workflows.policy.gates.gate_comparison import MAX_NAMED, merge_rerun, needs_rerun

_MOST_LANES: Final = 8
_ROOMY_BYTES: Final = 2 << 30
"""With less free disk, a change has one checkout at a time."""


class GateActivities:
    """Activity `gates.run`."""

    def __init__(self, host: Host, lanes: int | None = None) -> None:
        """Take the host, and how many gates of one change run side by side; None: by its cores."""
        self._host = host
        self._runner = GateRunner(host.sandbox, host.store)
        # Half of them: other gates and agents run at the same time, and a gate has its time limit.
        cores = len(os.sched_getaffinity(0))
        self._lanes = lanes or min(_MOST_LANES, max(1, cores // 2))

    @activity.defn(name="gates.run")
    async def run(self, request: RunGates) -> GateReport:
        """Judge the commit's tree; repeating it is safe, for a gate changes nothing that stays.

        Where no gate is concerned nothing is checked out. A base where all gates passed within the
        last day, in the same environment, is not judged again.

        Raises:
            ApplicationError: SandboxUnavailable, SetupFailed.
        """
        with mapped(), parts_taken() as parts:
            baselines = self._host.baselines
            if baselines is None or request.baseline is not None or not request.gates:
                return (await self._judged(request)).timed(tuple(parts.found))
            key = self._baseline_key(request)
            kept = baselines.find(key)
            if kept is not None and await self._is_whole(kept):
                return kept
            report = await self._judged(request)
            if all(each.result == "passed" for each in report.results):
                baselines.keep(key, report)
            return report.timed(tuple(parts.found))

    async def _judged(self, request: RunGates) -> GateReport:
        chosen = choose(request.gates, await self._changed(request))
        if not chosen.first and not chosen.then:
            tree = await self._host.commits(request.key).tree_of(request.commit)
            return GateReport(tree=tree, results=chosen.others)
        width = min(await self._width(request), max(len(chosen.first), len(chosen.then)))
        async with AsyncExitStack() as stack:
            trees = [await stack.enter_async_context(judged_tree(self._host, request))]
            if trees[0].is_shared:
                for number in range(1, width):
                    more = judged_tree(self._host, request, number)
                    trees.append(await stack.enter_async_context(more))
            return await self._judge(request, chosen, trees)

    def _baseline_key(self, request: RunGates) -> str:
        """Name all that the results on a base depend on."""
        places = stamps(self._host.toolchains, request.environment)
        parts = [
            request.model_dump_json(exclude={"session"}),
            type(self._host.sandbox).__name__,
            *(places if request.environment.root else (*places, stamp("/", Path("/")))),
        ]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    async def _is_whole(self, report: GateReport) -> bool:
        """Say whether the store has all that a kept report names; a clean-up then leaves it."""
        try:
            for each in report.results:
                for digest in filter(None, (each.ran, each.output)):
                    await self._host.store.put(await self._host.store.get(digest))
        except BlobMissingError:
            return False
        return True

    async def _width(self, request: RunGates) -> int:
        free = await self._host.worktrees(request.key).free_bytes()
        return self._lanes if free > _ROOMY_BYTES else 1

    async def _changed(self, request: RunGates) -> tuple[str, ...] | None:
        if request.since is None or request.baseline is None:
            return None
        commits = self._host.commits(request.key)
        changed = await commits.changed_files(request.since, request.commit)
        return tuple(each.path for each in changed)

    async def _judge(
        self, request: RunGates, chosen: Chosen, trees: Sequence[JudgedTree]
    ) -> GateReport:
        first = await self._settled(request, chosen.first, trees)
        if found := needs_rerun(request.baseline, _unmarked(first)):
            then = spared(chosen.then, found)
        else:
            then = (await self._settled(request, chosen.then, trees)).results
        results = in_order(request.gates, (*first.results, *then, *chosen.others))
        return GateReport(tree=trees[0].tree, results=results, notices=trees[0].notices)

    async def _settled(
        self, request: RunGates, gates: tuple[GateSpec, ...], trees: Sequence[JudgedTree]
    ) -> GateReport:
        """Run gates, compare them with the baseline, and run those with new failures again."""
        limits = Limits.within(request.environment)
        checkouts = [each.checkout for each in trees]
        results = await self._runner.run_beside(gates, checkouts, limits)
        report = GateReport(tree=trees[0].tree, results=results)
        if request.baseline is None:
            return report
        report = await self._compared(request.baseline, report)
        again = _named(gates, needs_rerun(request.baseline, report))
        if not again:
            return report
        results = await self._runner.run_beside(again, checkouts, limits, rerun=True)
        second = GateReport(tree=report.tree, results=results)
        return merge_rerun(report, await self._compared(request.baseline, second))

    async def _compared(self, baseline: GateReport, report: GateReport) -> GateReport:
        """Name in each result the tests that ran on the base and did not run here."""
        before = {each.gate: each.ran for each in baseline.results}
        results = [
            each.evolve(missing=await self._missing(before.get(each.gate), each))
            for each in report.results
        ]
        return GateReport(tree=report.tree, results=tuple(results), notices=report.notices)

    async def _missing(self, before: Digest | None, result: GateResult) -> tuple[str, ...]:
        if before is None:
            return ()
        try:
            names = set((await self._host.store.get(before)).decode().splitlines())
        except BlobMissingError:
            return ()  # long ago, on a store that was cleaned up: nothing can be compared
        now = (await self._host.store.get(result.ran)).decode().splitlines() if result.ran else ()
        return tuple(sorted(names.difference(now))[:MAX_NAMED])


def _unmarked(report: GateReport) -> GateReport:
    """Return a report in which no result counts as a rerun, to ask what of it is new."""
    results = tuple(each.evolve(rerun=False) for each in report.results)
    return GateReport(tree=report.tree, results=results)


def _named(gates: tuple[GateSpec, ...], names: tuple[str, ...]) -> tuple[GateSpec, ...]:
    return tuple(gate for gate in gates if gate.name in names)
