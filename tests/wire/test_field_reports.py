"""What went wrong for others, over the wire: a model speaks, real tools answer, the model goes on.

The simulator refuses orphaned, duplicate and empty blocks as the real servers do, so every turn
that follows shows that the conversation can still be sent.
"""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
from temporalio.exceptions import ApplicationError

from activities.adapters.blob_store import MemoryStore
from activities.adapters.sandbox.bubblewrap import BubblewrapSandbox
from activities.ports.sandbox_port import Workspace
from activities.toolset.tool_runner import Toolset
from activities.toolset.tool_schemas import sandbox_tools
from tests.unit.activities.adapters.models.wire import OPENING, PROVIDERS, play
from tests.wire.stage import Stage, ending
from workflows.contracts.model_contracts import CALL_MODEL
from workflows.domain.agent.messages import Message, ToolCall, ToolMessage, ToolResult
from workflows.domain.agent.model_values import Provider, Role
from workflows.domain.ids import Digest
from workflows.errors import FailureType
from workflows.policy.agent.submission_check import fault
from workflows.policy.review.verdict_rules import read_submission

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.fixture(params=PROVIDERS)
def provider(request: pytest.FixtureRequest) -> Provider:
    name: Provider = request.param
    return name


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    path = tmp_path / "tree"
    path.mkdir()
    return path


def only_free(path: str) -> str | None:
    return None if path.startswith("free/") else "the task's claims are: free/**"


class Agent:
    """Asks the model and runs its calls, as the agent's loop does."""

    def __init__(self, stage: Stage, provider: Provider, tree: Path) -> None:
        self._stage = stage
        self._provider: Provider = provider
        self._tools = Toolset(
            sandbox=BubblewrapSandbox(),
            blobs=MemoryStore(),
            workspace=Workspace(path=tree),
            tools=sandbox_tools(Role.DEVELOPER),
            may_write=only_free,
        )
        self._head: Digest | None = None
        self._pending: Message = OPENING
        self.calls: list[ToolCall] = []

    async def turn(self) -> tuple[ToolResult, ...]:
        """Play one turn and return what its calls were answered."""
        caller = self._stage.caller
        answer = await caller.answer(self._provider, self._pending, prefix=self._head)
        self._head = answer.head
        self.calls += answer.tool_calls
        results = tuple([(await self._tools.run_call(call)).result for call in answer.tool_calls])
        self._pending = ToolMessage(results=results)
        return results


Start = Callable[..., Agent]


@pytest.fixture
def start(stage: Stage, provider: Provider, tree: Path) -> Start:
    def begin(*turns: str) -> Agent:
        stage.simulator.play(play(*turns))
        return Agent(stage, provider, tree)

    return begin


async def test_r09_half_an_emoji(start: Start, tree: Path) -> None:
    path = '"path": "free/e.txt"'
    agent = start(
        rf'{{calls: [{{write: {{{path}, "content": "ok \ud83d end"}}}}]}}',
        f"{{calls: [{{read: {{{path}}}}}]}}",
        "{text: done, calls: [{submit: {}}], expect: 'ok \ufffd end'}",
    )
    await agent.turn()
    (read,) = await agent.turn()
    assert (tree / "free" / "e.txt").read_text() == "ok \ufffd end"
    assert "ok \ufffd end" in read.text
    await agent.turn()


async def test_r09_a_cut_splits_no_character(start: Start) -> None:
    command = "python3 -c 'print(chr(128512) * 200000)'"
    agent = start(
        f"{{calls: [{{bash: {{command: {json.dumps(command)}}}}}]}}", "{calls: [{submit: {}}]}"
    )
    (seen,) = await agent.turn()
    assert "😀" in seen.text
    assert "\ufffd" not in seen.text
    await agent.turn()


SOON = format_datetime(datetime.now(UTC) + timedelta(days=2), usegmt=True)
WAITS: list[tuple[Any, timedelta | None]] = [
    (0, None),
    (-5, None),
    (18_000, timedelta(hours=5)),
    ("'Wed, 21 Oct 2015 07:28:00 GMT'", None),
    ("null", None),
    ("nonsense", None),
]


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("value", "wait"), WAITS)
async def test_r13_temporal_waits_and_blue_flame_never_does(
    stage: Stage, provider: Provider, value: Any, wait: timedelta | None
) -> None:
    stage.simulator.play(play(f"{{error: {{kind: rate_limited, retry_after: {value}}}}}"))
    for _ in range(3):
        end = await ending(stage.caller, provider)
        assert isinstance(end, ApplicationError)
        assert (end.type, end.non_retryable) == (FailureType.RATE_LIMITED, False)
        assert end.next_retry_delay == wait
    # Without a wait of the provider's, the contract's back-off: never a hot loop.
    assert CALL_MODEL.retry.initial_interval >= timedelta(seconds=1)
    assert CALL_MODEL.retry.backoff_coefficient > 1


async def test_r13_a_date_is_honoured(stage: Stage, provider: Provider) -> None:
    stage.simulator.play(play(f"{{error: {{kind: rate_limited, retry_after: '{SOON}'}}}}"))
    end = await ending(stage.caller, provider)
    assert isinstance(end, ApplicationError)
    assert end.next_retry_delay is not None
    assert timedelta(days=1) < end.next_retry_delay <= timedelta(days=2)


async def test_r13_used_up_credit_is_not_asked_again(stage: Stage, provider: Provider) -> None:
    stage.simulator.play(play("{error: {kind: credit, retry_after: 1}}"))
    end = await ending(stage.caller, provider)
    assert isinstance(end, ApplicationError)
    assert (end.type, end.non_retryable) == (FailureType.CREDIT_EXHAUSTED, True)
    assert str(FailureType.CREDIT_EXHAUSTED) in (CALL_MODEL.retry.non_retryable_error_types or ())


async def test_r37_ids_that_repeat_are_empty_or_old(start: Start) -> None:
    def call(call_id: str) -> str:
        return f"{{name: bash, arguments: {{command: 'true'}}, id: '{call_id}'}}"

    agent = start(
        f"{{calls: [{call('call_0')}, {call('call_0')}]}}",
        f"{{calls: [{call('')}]}}",
        f"{{calls: [{call('call_0')}, {call('')}]}}",
        "{calls: [{submit: {}}], expect: (no output)}",
    )
    for _ in range(3):
        results = await agent.turn()
        assert [result.text.splitlines()[0] for result in results] == ["(no output)"] * len(results)
    await agent.turn()
    ids = [each.id for each in agent.calls]
    assert len(ids) == len(set(ids)) == 6


async def test_r37_a_denied_call_does_not_stop_the_others(start: Start, tree: Path) -> None:
    agent = start(
        "{calls: [{bash: {command: echo one}}, {write: {path: other/x, content: x}}, "
        "{write: {path: free/y, content: y}}]}",
        "{text: ok, calls: [{submit: {}}]}",
    )
    first, denied, third = await agent.turn()
    assert first.text.startswith("one")
    assert denied.text == "'other/x' may not be written: the task's claims are: free/**"
    assert [each.is_error for each in (first, denied, third)] == [False, True, False]
    assert (tree / "free" / "y").read_text() == "y"
    await agent.turn()


DEEP = "[" * 60 + "]" * 60
ODD = [
    (
        "{browser: {url: x}}",
        "There is no tool 'browser' here. Tools: bash, read, edit, write, apply_patch.",
    ),
    ("{read: {path: [a]}}", "path: Input should be a valid string"),
    ("{edit: {path: free/a, old: x, new: y, replace_all: 'false'}}", "a valid boolean"),
    ("{bash: {command: ls, timeout_s: '10'}}", "timeout_s: Input should be"),
    ("{bash: {command: ls, other: 1}}", "other: "),
    ("{bash: {}}", "command: "),
    (f"{{bash: {{command: {DEEP}}}}}", "command: Input should be a valid string"),
]


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("call", "why"), ODD)
async def test_r42_odd_calls_are_answered_in_words(
    start: Start, tree: Path, call: str, why: str
) -> None:
    (tree / "free").mkdir()
    (tree / "free" / "a").write_text("x x")
    agent = start(f"{{calls: [{call}]}}", "{calls: [{submit: {}}]}")
    (result,) = await agent.turn()
    assert result.is_error
    assert why in result.text
    assert (tree / "free" / "a").read_text() == "x x"
    await agent.turn()


@pytest.mark.sampled(5)
@pytest.mark.parametrize("arguments", ["'null'", "'[]'", "'\"{}\"'", f"'{DEEP}'", "[1]"])
@pytest.mark.parametrize("provider", ["anthropic", "openai", "local"], indirect=True)
async def test_r42_arguments_that_are_no_object(start: Start, arguments: str) -> None:
    agent = start(f"{{calls: [{{bash: {arguments}}}]}}", "{calls: [{submit: {}}]}")
    (result,) = await agent.turn()
    assert result.is_error
    assert "the arguments are not a JSON object" in result.text
    await agent.turn()


async def test_r42_a_wrong_type_in_a_submission_is_never_a_pass(
    stage: Stage, provider: Provider
) -> None:
    verdict = "{submit_verdict: {approve: 'false', summary: fine}}"
    plan = "{submit_plan: {tasks: '[]'}}"
    stage.simulator.play(play(f"{{calls: [{verdict}, {plan}]}}"))
    answer = await stage.caller.answer(provider)
    said, planned = answer.tool_calls
    assert said.arguments["approve"] == "false"
    assert "malformed verdict" in str(read_submission(said.arguments))
    assert fault(Role.PLANNER, planned.arguments) is not None
