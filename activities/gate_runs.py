"""Gates on one commit: a fresh checkout in the sandbox, and one rerun against flakes."""

from temporalio import activity

from activities.activity_failures import mapped
from activities.gates.execution import Checkout, GateRunner
from activities.ports.blob_store_port import BlobMissingError
from activities.ports.host_repository import WorktreeStore
from activities.ports.sandbox_port import Limits
from activities.repository.host_data import Host, workspace
from activities.setup_once.set_up import SetUpTree
from activities.setup_once.setup_commands import SetUp
from workflows.contracts.host_contracts import RunGates
from workflows.domain.gate import GateReport, GateResult, GateSpec
from workflows.domain.ids import Digest
from workflows.policy.gates.gate_comparison import MAX_NAMED, merge_rerun, needs_rerun


class GateActivities:
    """Activity `gates.run`."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._runner = GateRunner(host.sandbox, host.store)

    @activity.defn(name="gates.run")
    async def run(self, request: RunGates) -> GateReport:
        """Judge the commit's tree; repeating it is safe, for a gate changes nothing that stays.

        Without gates nothing is checked out.

        Raises:
            ApplicationError: SandboxUnavailable, SetupFailed.
        """
        if not request.gates:
            with mapped():
                tree = await self._host.commits(request.key).tree_of(request.commit)
            return GateReport(tree=tree, results=())
        worktrees = self._host.worktrees(request.key)
        name = f"{request.session}.gate.{request.commit[:16]}".lower()
        with mapped():
            async with worktrees.lock(name) as hold:
                await worktrees.remove_worktree(name)
                try:
                    return await self._judge(worktrees, name, request, hold)
                finally:
                    await worktrees.remove_worktree(name)

    async def _judge(
        self, worktrees: WorktreeStore, name: str, request: RunGates, hold: int
    ) -> GateReport:
        place = await worktrees.create_worktree(name, request.commit)
        tree = (await worktrees.collect(name)).tree
        furnished = SetUpTree(self._host, _set_up(request), name, request.commit)
        notices = await furnished.prepare(place, hold)

        async def restore() -> tuple[str, ...]:
            changes = (await worktrees.collect(name)).changes
            await worktrees.restore(name, request.commit)
            await furnished.renew(place)
            return tuple(each.path for each in changes if each.status != "added")

        await worktrees.restore(name, request.commit)
        tree_shown = workspace(place, request.environment, writable=True)
        checkout = Checkout(tree_shown, restore, hold)
        limits = Limits.within(request.environment)
        results = await self._runner.run(request.gates, checkout, limits)
        report = GateReport(tree=tree, results=results, notices=notices)
        if request.baseline is None:
            return report
        report = await self._compared(request.baseline, report)
        again = _named(request.gates, needs_rerun(request.baseline, report))
        if not again:
            return report
        rerun = await self._runner.run(again, checkout, limits, rerun=True)
        second = await self._compared(request.baseline, GateReport(tree=tree, results=rerun))
        return merge_rerun(report, second)

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


def _set_up(request: RunGates) -> SetUp:
    return SetUp(
        session=request.session,
        key=request.key,
        commands=request.setup,
        timeout=request.setup_timeout,
        network=request.network,
        copied=request.copied,
        environment=request.environment,
    )


def _named(gates: tuple[GateSpec, ...], names: tuple[str, ...]) -> tuple[GateSpec, ...]:
    return tuple(gate for gate in gates if gate.name in names)
