"""Gates that fail on the base: what merged work has fixed must not fail again."""

import pytest

from tests.fakes.world import World, name_of, planned
from tests.theatre import Theatre, states
from workflows.contracts.gate_contracts import RunGates
from workflows.contracts.host_contracts import FinishOutcome, FinishTask, TaskCommitted
from workflows.contracts.merging_contracts import MergeCommits, MergedCommits
from workflows.domain.gate import GateReport, GateResult, GateSpec
from workflows.domain.ids import Commit, Tree
from workflows.domain.session.session_config import Approvals

pytestmark = pytest.mark.asyncio(loop_scope="session")

UNATTENDED = Approvals(plan="auto", changeset="auto_if_green")
GATES = (GateSpec(name="tests", argv=("true",)),)


class RedBase(World):
    """One test fails on the base; task `a` fixes it, and `b` may break it again."""

    def __init__(self, *, is_broken_again: bool, depends_on: list[str]) -> None:
        super().__init__(planned({"id": "a"}, {"id": "b", "depends_on": depends_on}))
        self.red = {Commit(name_of("base"))}
        self.breaking: set[Commit] = set()
        self.is_broken_again = is_broken_again

    async def finish_task(self, request: FinishTask) -> FinishOutcome:
        done = await super().finish_task(request)
        assert isinstance(done, TaskCommitted)
        if request.task == "b":
            if self.is_broken_again:
                self.breaking.add(done.commit)
            if self.is_broken_again or request.base in self.red:
                self.red.add(done.commit)
        return done

    async def merge_commits(self, request: MergeCommits) -> MergedCommits:
        merged = await super().merge_commits(request)
        assert isinstance(merged, MergedCommits)
        if self.breaking.intersection(request.commits):
            self.red.add(merged.commit)
        return merged

    async def run_gates(self, request: RunGates) -> GateReport:
        is_red = request.commit in self.red
        result = GateResult(
            gate="tests",
            result="failed" if is_red else "passed",
            exit_code=int(is_red),
            failures=("test_old",) if is_red else (),
        )
        return GateReport(tree=Tree(name_of(request.commit)), results=(result,))


@pytest.mark.parametrize(
    ("depends_on", "is_broken_again", "b"),
    [
        (["a"], True, ("failed", 1)),  # refused before a reviewer is asked: it is based on the head
        ([], True, ("failed", 2)),  # sent back from the merged tree: alone it broke nothing
        # what it failed is not its fault
        pytest.param([], False, ("merged", 1), marks=pytest.mark.slow),
        pytest.param(["a"], False, ("merged", 1), marks=pytest.mark.slow),
    ],
)
@pytest.mark.slow
async def test_a_failure_that_merged_work_fixed_must_not_return(
    theatre: Theatre, depends_on: list[str], is_broken_again: bool, b: tuple[str, int]
):
    world = RedBase(is_broken_again=is_broken_again, depends_on=depends_on)
    async with theatre.session(world, approvals=UNATTENDED, gates=GATES, attempts=1) as session:
        result = await session.result()
        texts = [each.text for each in (await session.view()).notices]
    assert states(result) == {"a": ("merged", 1), "b": b}
    assert "gate 'tests' fails on the base already (failures: 1): only new failures count" in texts
