"""What went wrong for people with gates whose results move by themselves.

Real git, real sandbox; each gate as it would be configured.
"""

from pathlib import Path

import pytest

from activities.adapters.sandbox.bubblewrap import BubblewrapSandbox
from activities.ports.sandbox_port import SandboxCommand, SandboxResult
from tests.unit.activities.adapters.git.home import Home
from tests.unit.activities.situations import Situation, bash
from workflows.contracts.host_contracts import WorkRefused
from workflows.domain.gate import GateReport, GateResult
from workflows.domain.ids import Tree

pytestmark = pytest.mark.sandbox

STAMP = "date +%N > VERSION; git status --porcelain; echo x > new.snap"


@pytest.fixture
def situation(tmp_path: Path) -> Situation:
    return Situation(tmp_path, BubblewrapSandbox())


def plain(home: Home) -> None:
    home.make({"VERSION": "1\n", "src/a": "x\n", "stamp.sh": f"{STAMP}\n"})


async def test_r49_what_a_gate_writes_is_reported_and_not_seen_by_the_next(situation: Situation):
    await situation.begin(plain)
    for _ in range(2):
        said = await situation.gate(situation.home.base, "sh", "-c", STAMP)
        assert (said.result, said.changed_files) == ("passed", ("VERSION",))
        assert said.excerpt.split() == ["M", "VERSION"], "and nothing of the run before"


async def test_r49_what_an_agents_own_run_leaves_is_not_committed_with_its_work(
    situation: Situation,
):
    (agent,) = await situation.begin(plain, "a", claims=("src/**",))
    write = ("write", {"path": "src/a", "content": "y\n"})
    denied, _ = await agent.turn(bash(STAMP), write)
    assert "Denied by rule 'claims': 'VERSION' is outside" in denied
    await agent.turn(bash("sh stamp.sh"))
    done = await agent.submit()
    assert isinstance(done, WorkRefused)
    assert [(each.rule, each.path) for each in done.findings] == [
        ("write", "VERSION"),
        ("write", "new.snap"),
    ]


class OnlyTheFirstFails(BubblewrapSandbox):
    """Tells each gate but the first that it runs again: nothing of a gate outlives it."""

    runs = 0

    async def run(self, command: SandboxCommand, hold: int | None = None) -> SandboxResult:
        self.runs += 1
        env = (*command.env, ("AGAIN", "1")) if self.runs > 1 else command.env
        return await super().run(command.model_copy(update={"env": env}), hold)


async def test_r49_one_rerun_distinguishes_flaky_from_new_failures(tmp_path: Path):
    situation = Situation(tmp_path, OnlyTheFirstFails())
    await situation.begin(plain)
    passed = GateResult(gate="check", result="passed", exit_code=0)
    green = GateReport(tree=Tree("t"), results=(passed,))
    report = await situation.report(
        situation.home.base, "sh", "-c", 'test -n "$AGAIN"', baseline=green
    )
    (result,) = report.results
    assert (result.result, result.rerun) == ("passed", True)
    assert result.reason == "flaky: failed once, passed when run again"
