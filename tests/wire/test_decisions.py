"""Every case of docs/models.md, over HTTP with the official clients, ends as that table says."""

import re
from datetime import timedelta
from pathlib import Path

import pytest
from temporalio.exceptions import ApplicationError

from tests.unit.activities.adapters.models.wire import play
from tests.wire.cases import Case, all_cases
from tests.wire.stage import Stage, ending
from workflows.contracts.model_contracts import ModelAnswered
from workflows.domain.agent.model_values import Role
from workflows.policy.agent.model_failures import FailedCall, after_failure, failed_kind
from workflows.policy.agent.turn_decisions import Answer, next_move

pytestmark = pytest.mark.asyncio(loop_scope="session")

TABLES = (Path(__file__).parents[2] / "docs" / "models.md").read_text()
ROW = re.compile(r"^\| `([^`]+)` \|.*\| ([^|]+) \| `(\w+)` \|$", re.MULTILINE)
DECISIONS = {name: (decision.strip(), then) for name, decision, then in ROW.findall(TABLES)}
CASES = all_cases()


async def test_the_tables_and_the_cases_name_the_same() -> None:
    assert set(DECISIONS) == {case.name for case in CASES}
    assert len(CASES) >= 90


@pytest.mark.sampled(5)
@pytest.mark.parametrize("case", CASES, ids=str)
async def test_decision(stage: Stage, case: Case) -> None:
    stage.simulator.play(play(case.turn))
    if case.raw is not None:
        stage.simulator.interject(case.raw)
    end = await ending(stage.callers[case.special], case.provider)
    assert (told(end), following(end)) == DECISIONS[case.name]
    assert len(stage.simulator.log.entries) == (0 if case.special == "nobody" else 1)
    if isinstance(end, ModelAnswered):
        assert end.cost_usd >= 0
    elif case.name == "rate limit":
        assert end.next_retry_delay == timedelta(seconds=7)


def told(end: ModelAnswered | ApplicationError) -> str:
    return f"answer: {end.stop}" if isinstance(end, ModelAnswered) else str(end.type)


def following(end: ModelAnswered | ApplicationError) -> str:
    """What the agent or Temporal does next, in the words of the document."""
    if isinstance(end, ModelAnswered):
        move = next_move(Role.DEVELOPER, Answer(stop=end.stop, tool_calls=end.tool_calls), 0)
        return "stop" if move.end is not None else move.kind
    if not end.non_retryable:
        return "repeat"
    return after_failure(FailedCall(kind=failed_kind(str(end.type)), unknown_in_a_row=1))
