"""Ten kinds of chaos, each survived: nothing lost, nothing paid for that was not answered.

The workflows are the real ones on a real server; what fails is scripted. Where the chaos is on the
host, the real sandbox and the real runners meet it.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from pydantic import JsonValue
from temporalio.exceptions import ApplicationError

from activities.adapters.blob_store import MemoryStore
from activities.adapters.sandbox.bubblewrap import BubblewrapSandbox
from activities.gates.execution import Checkout, GateRunner
from activities.ports.sandbox_port import Limits, Workspace
from activities.toolset.tool_runner import Observation, Toolset
from tests.fakes.world import Hold, World, answered, planned, tool
from tests.theatre import Theatre, has_heard, result_of, scheduled, tools_are_done
from tests.waiting import PATIENCE
from workflows.contracts.model_contracts import CallModel, ModelOutcome
from workflows.domain.agent.agent_values import AgentEnd
from workflows.domain.agent.messages import ToolCall
from workflows.domain.agent.model_values import Usage
from workflows.domain.budget import Caps
from workflows.domain.gate import GateResult, GateSpec
from workflows.domain.session.notice import NoticeKind
from workflows.domain.session.query_answers import SessionResult
from workflows.errors import FailureType

pytestmark = pytest.mark.asyncio(loop_scope="session")

PRICE = Decimal("0.01")
SOON = timedelta(milliseconds=20)
FOUR = planned(*({"id": name} for name in "abcd"))


def refusing(world: World, kind: FailureType, times: int) -> None:
    """Let the provider refuse each call so many times before it answers."""
    refused: Counter[tuple[str, int]] = Counter()

    async def refuse() -> ModelOutcome | None:
        raise ApplicationError("not now", type=kind, next_retry_delay=SOON)

    def on_call(call: CallModel) -> Awaitable[ModelOutcome | None] | None:
        key = (str(call.agent), call.turn)
        refused[key] += 1
        return refuse() if refused[key] <= times else None

    world.on_call = on_call


async def played(theatre: Theatre, world: World) -> SessionResult:
    async with theatre.session(world) as session:
        return await session.result()


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(FailureType.PROVIDER_UNAVAILABLE, id="api-blackout", marks=pytest.mark.slow),
        pytest.param(FailureType.RATE_LIMITED, id="429-storm", marks=pytest.mark.slow),
    ],
)
async def test_calls_park_resume_and_cost_what_a_calm_session_costs(
    theatre: Theatre, kind: FailureType
):
    calm, stormy = World(FOUR, PRICE), World(FOUR, PRICE)
    expected = await played(theatre, calm)
    refusing(stormy, kind, times=4)
    result = await played(theatre, stormy)
    assert len(stormy.calls) == 5 * len(calm.calls)
    assert result.outcome == expected.outcome == "complete"
    assert [(t.id, t.state, t.attempt) for t in result.tasks] == [
        (t.id, t.state, t.attempt) for t in expected.tasks
    ]
    assert result.spent_usd == stormy.spent == calm.spent


async def test_150k_tokens_of_noise_are_compacted(theatre: Theatre):
    world = World(planned({"id": "a"}))

    async def answer(call: CallModel) -> ModelOutcome:
        if "Compaction" in call.messages[-1].model_dump_json():
            return answered(call, text="half is done")
        if "half is done" in call.messages[0].model_dump_json():
            return answered(call, tool("submit", summary="done"))
        tokens = 5_000 if call.turn == 1 else 150_000 + call.turn * 10_000
        noise = Usage(input_tokens=tokens, output_tokens=1_000)
        return answered(call, tool("bash", command=f"cat noise-{call.turn}"), usage=noise)

    world.on_call = answer
    async with theatre.agent(world) as agent:
        outcome = await result_of(agent)
    assert outcome.end is AgentEnd.SUBMITTED
    assert [call.prefix is None for call in world.calls].count(True) == 2


async def test_an_output_limit_of_ten_tokens_is_told_until_the_answer_fits(theatre: Theatre):
    world = World(planned({"id": "a"}))

    async def cut(call: CallModel) -> ModelOutcome:
        return answered(call, text="I will first", stop="truncated")

    world.on_call = lambda call: cut(call) if len(world.calls) in {1, 2, 4} else None
    async with theatre.agent(world) as agent:
        outcome = await result_of(agent)
    assert outcome.end is AgentEnd.SUBMITTED
    assert "cut at the output limit" in world.heard("dev.a.1", 2)


@pytest.mark.slow
async def test_a_cost_spike_pauses_before_the_cap(theatre: Theatre):
    world = World(FOUR, Decimal("0.50"))
    hold = Hold()
    world.on_tools = lambda _: hold.wait()  # by then each has told what it spent
    caps = Caps(stop_usd=Decimal(5), warn_usd=Decimal(4), burn_usd_per_minute=Decimal("0.40"))
    async with theatre.session(world, budget=caps) as session:
        view = await session.until(lambda view: view.phase == "paused")
        assert NoticeKind.BURN_RATE in [notice.kind for notice in view.notices]
        agents = [
            theatre.client.get_workflow_handle(f"{session.handle.id}/1/develop/dev.{task}.1")
            for task in "abcd"
        ]
        for agent in agents:
            await has_heard(agent, "pause")
        hold.release()
        for agent in agents:
            await tools_are_done(agent)
            assert await scheduled(agent) == ["models.call", "tools.run"]
        assert world.spent == 5 * world.usd < caps.stop_usd


@pytest.mark.slow
async def test_ten_seconds_of_latency_on_every_call_are_no_failure(theatre: Theatre):
    world = World(planned({"id": "a"}, {"id": "b"}), PRICE)
    world.on_call = lambda _: asyncio.sleep(10)
    result = await played(theatre, world)
    assert result.outcome == "complete"
    assert {task.attempt for task in result.tasks} == {1}
    assert len(world.calls) == len({(call.agent, call.turn) for call in world.calls})


# --- on the host ----------------------------------------------------------------------------


async def seen(
    tree: Path, name: str, arguments: dict[str, JsonValue], *, writable: bool = True
) -> Observation:
    toolset = Toolset(
        sandbox=BubblewrapSandbox(),
        blobs=MemoryStore(),
        workspace=Workspace(path=tree, writable=writable),
        tools=("bash", "read", "edit", "write"),
        limits=Limits(timeout=timedelta(seconds=PATIENCE)),
    )
    return await toolset.run_call(ToolCall(id="1", name=name, arguments=arguments))


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


async def judged(tree: Path, script: str) -> GateResult:
    async def restore() -> tuple[str, ...]:
        return ()

    runner = GateRunner(BubblewrapSandbox(), MemoryStore())
    gate = GateSpec(name="check", argv=("sh", "-c", script))
    limits = Limits(timeout=timedelta(seconds=PATIENCE))
    (result,) = await runner.run([gate], Checkout(Workspace(path=tree), restore), limits)
    return result


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("name", "arguments"),
    [("bash", {"command": "echo x > half; echo y >> a"}), ("write", {"path": "a", "content": "y"})],
)
async def test_a_read_only_file_system_is_a_clear_finding_and_leaves_no_half_state(
    tmp_path: Path, name: str, arguments: dict[str, JsonValue]
):
    (tmp_path / "a").write_text("before\n")
    observation = await seen(tmp_path, name, arguments, writable=False)
    assert "read-only" in observation.result.text.lower()
    assert contents(tmp_path) == {"a": "before\n"}


@pytest.mark.sandbox
async def test_a_killed_subprocess_is_told_and_a_killed_gate_is_no_failed_test(tmp_path: Path):
    """Field report R17."""
    told = await seen(tmp_path, "bash", {"command": "kill -9 $$"})
    assert "9" in told.result.text
    result = await judged(tmp_path, "echo FAILED test_a; kill -9 $$")
    assert (result.result, result.failures) == ("judged_nothing", ())
    assert "signal 9" in result.reason


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("name", "arguments"),
    [("read", {"path": "src/no.py"}), ("edit", {"path": "src/no.py", "old": "a", "new": "b"})],
)
async def test_a_path_that_does_not_exist_is_told_and_nothing_is_invented(
    tmp_path: Path, name: str, arguments: dict[str, JsonValue]
):
    (tmp_path / "src").mkdir()
    (tmp_path / "src/now.py").write_text("a = 1\n")
    observation = await seen(tmp_path, name, arguments)
    assert observation.result.is_error
    assert "src/no.py' does not exist" in observation.result.text
    assert "now.py" in observation.result.text
    assert contents(tmp_path / "src") == {"now.py": "a = 1\n"}


@pytest.mark.sandbox
async def test_a_program_that_is_missing_is_named(tmp_path: Path):
    result = await judged(tmp_path, "no-such-program --version")
    assert result.result == "judged_nothing"
    assert "'no-such-program'" in result.reason
    told = await seen(tmp_path, "bash", {"command": "no-such-program --version"})
    assert "no-such-program" in told.result.text
    assert "127" in told.result.text
