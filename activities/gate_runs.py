"""Gates on one commit: a fresh checkout in the sandbox, and one rerun against flakes."""

from temporalio import activity

from activities.activity_failures import mapped
from activities.gates.execution import Checkout, GateRunner
from activities.ports.host_repository import HostRepository
from activities.ports.sandbox_port import Limits
from activities.repository.host_data import Host, workspace, write_copied
from activities.worktrees import set_up
from workflows.contracts import RunGates
from workflows.domain.gate import GateReport, GateSpec
from workflows.policy.review.gate_comparison import merge_rerun, needs_rerun


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
        repository = self._host.repository(request.key)
        if not request.gates:
            with mapped():
                return GateReport(tree=await repository.tree_of(request.commit), results=())
        name = f"{request.session}.gate.{request.commit[:16]}".lower()
        with mapped():
            async with repository.lock(name) as hold:
                await repository.remove_worktree(name)
                try:
                    return await self._judge(repository, name, request, hold)
                finally:
                    await repository.remove_worktree(name)

    async def _judge(
        self, repository: HostRepository, name: str, request: RunGates, hold: int
    ) -> GateReport:
        place = await repository.create_worktree(name, request.commit)
        tree = (await repository.collect(name)).tree
        await write_copied(self._host.store, place.path, request.copied)
        tree_shown = workspace(place, request.environment, writable=True)
        notices = await set_up(self._host.sandbox, tree_shown, request, hold)

        async def restore() -> tuple[str, ...]:
            changes = (await repository.collect(name)).changes
            await repository.restore(name, request.commit)
            return tuple(each.path for each in changes if each.status != "added")

        await restore()
        checkout = Checkout(tree_shown, restore, hold)
        results = await self._runner.run(request.gates, checkout, Limits())
        report = GateReport(tree=tree, results=results, notices=notices)
        if request.baseline is None:
            return report
        again = _named(request.gates, needs_rerun(request.baseline, report))
        if not again:
            return report
        rerun = await self._runner.run(again, checkout, Limits(), rerun=True)
        return merge_rerun(report, GateReport(tree=tree, results=rerun))


def _named(gates: tuple[GateSpec, ...], names: tuple[str, ...]) -> tuple[GateSpec, ...]:
    return tuple(gate for gate in gates if gate.name in names)
