"""Every activity of the contracts as a fake, by its contract's name: workflows are tested without
disk, git, sandbox or models. `World` is what a test scripts and afterwards looks at.
"""

import asyncio
import contextlib
import hashlib
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from typing import Any

from tests.fakes.fake_messages import FakeMessages
from tests.fakes.hosting_world import HostingWorld
from tests.waiting import ends
from workflows.contracts import (
    gate_contracts,
    host_contracts,
    hosting_contracts,
    land_contracts,
    merging_contracts,
    model_contracts,
)
from workflows.contracts.gate_contracts import RunGates
from workflows.contracts.host_contracts import (
    AwaitBase,
    AwaitedBase,
    CheckEvidence,
    ClaimHost,
    DiffText,
    EvidenceChecked,
    FinishOutcome,
    FinishTask,
    HostClaim,
    ImportBase,
    ImportedBase,
    LastCheckpoint,
    Observation,
    PrepareWorktree,
    ReadDiff,
    ReadTurn,
    RecordedCheckpoint,
    Removed,
    RemoveWorktree,
    RunTools,
    TaskCommitted,
    ToolsOutcome,
    TurnRead,
    WorktreeReady,
)
from workflows.contracts.land_contracts import (
    DeliverBranch,
    Delivered,
    DeliveryOutcome,
    ExportBase,
    ForwardBranch,
    Forwarded,
    ForwardOutcome,
    ForwardRefused,
    ReportWritten,
    SendBase,
    SentBase,
    WriteReport,
)
from workflows.contracts.merging_contracts import (
    AdvanceBranch,
    Advanced,
    BundleBranch,
    BundledBranch,
    MergeCommits,
    MergedCommits,
    MergeOutcome,
    RebasedWork,
    RebaseWork,
)
from workflows.contracts.model_contracts import (
    CallModel,
    ModelAnswered,
    ModelOutcome,
    ResolveModels,
)
from workflows.domain.agent.messages import ToolCall
from workflows.domain.agent.model_values import ModelFacts, Prices, Role, Usage
from workflows.domain.gate import GateReport, GateResult, GateSpec
from workflows.domain.ids import Commit, Digest, Tree
from workflows.domain.repository import Base
from workflows.domain.session.scheduled_goal import ScheduledGoal, SessionMaking
from workflows.domain.session.session_state import ResolvedRoutes
from workflows.domain.verdict import EvidencePlace

_OUTPUT_TOKENS = 1_000

Making = Callable[[ScheduledGoal], SessionMaking | Awaitable[SessionMaking]]
Script = Callable[[CallModel], Sequence[ToolCall]]


def name_of(*parts: object) -> str:
    """Return a commit-like name that follows from its parts."""
    return hashlib.sha1(json.dumps([str(part) for part in parts]).encode()).hexdigest()


def tool(name: str, **arguments: Any) -> ToolCall:
    """Return a call; its id follows from it."""
    return ToolCall(id=name_of(name, arguments)[:12], name=name, arguments=arguments)


def planned(*tasks: dict[str, Any]) -> dict[str, Any]:
    """Return a plan as the planner submits it; each task needs an id only."""
    return {
        "summary": "a plan",
        "tasks": [
            {
                "title": f"Task {task['id']}",
                "acceptance_criteria": ["it works"],
                "claims": [f"src/{task['id']}/**"],
                **task,
            }
            for task in tasks
        ],
    }


def model(name: str, usd_per_call: Decimal = Decimal(0), **facts: Any) -> ModelFacts:
    """Return a scripted model whose every call costs the same: its output is always the longest."""
    free = Decimal(0)
    prices = Prices(
        input_usd=free,
        cached_input_usd=free,
        cache_write_usd=free,
        output_usd=usd_per_call * 1_000_000 / _OUTPUT_TOKENS,
    )
    family = name.partition("/")[2]
    return ModelFacts.model_validate(
        {
            "provider": "scripted",
            "model": family,
            "family": family,
            "window_tokens": 200_000,
            "max_output_tokens": _OUTPUT_TOKENS,
            "prices": prices,
            **facts,
        }
    )


def answered(call: CallModel, *calls: ToolCall, **facts: Any) -> ModelAnswered:
    """Return a model's answer to a call."""
    return ModelAnswered.model_validate(
        {
            "text": "",
            "tool_calls": calls,
            "head": name_of(call.prefix, call.agent, call.turn).ljust(64, "0"),
            "stop": "tool_calls" if calls else "end",
            "usage": Usage(input_tokens=100, output_tokens=_OUTPUT_TOKENS),
            "cost_usd": Decimal(0),
            "latency": timedelta(seconds=1),
            "scripted": True,
            **facts,
        }
    )


GATES = (GateSpec(name="tests", argv=("true",)),)
"""What is found in the repository where no gates are configured."""


class World:
    """What happens outside of the workflows: scripted before, inspected after."""

    failing_path = "fails"
    """A call with this path fails."""
    forward_refused = ""
    """Why the person's branch cannot be moved; empty: it is."""
    scheduled: SessionMaking | Making | None = None
    """What a schedule of this world's name, or a queue, is to start."""

    def __init__(self, plan: dict[str, Any], usd_per_call: Decimal = Decimal(0)) -> None:
        self.plan = plan
        self.usd = usd_per_call
        self.calls: list[CallModel] = []
        self.tools: list[RunTools] = []
        self.running: Counter[str] = Counter()
        self.most_running = 0
        self.prepared: list[PrepareWorktree] = []
        self.judged, self.removed = list[RunGates](), list[RemoveWorktree]()
        self.sandbox = "fake"
        self.not_reached: tuple[str, ...] = ()
        """What set-up asked of the network and did not get."""
        self.finished: list[FinishTask] = []
        self.delivered: list[DeliverBranch] = []
        self.forwarded: list[ForwardBranch] = []
        self.messages = FakeMessages()
        self.hosting = HostingWorld()
        self.sent: list[SendBase] = []
        self.bundled: list[BundleBranch] = []
        self.script: Script = self.usual
        self.spent = Decimal(0)
        """What the provider would bill for the calls that it answered."""
        self.on_call: Callable[[CallModel], Awaitable[ModelOutcome | None] | None] = lambda _: None
        self.on_tools: Callable[[RunTools], Awaitable[ToolsOutcome | None] | None] = lambda _: None
        self.finish: Callable[[FinishTask], FinishOutcome | None] = lambda _: None
        self.gate_fails: Callable[[RunGates], bool] = lambda _: False
        self.merge: Callable[[MergeCommits], MergeOutcome | None] = lambda _: None
        self.rebased: list[RebaseWork] = []
        self.rebase: Callable[[RebaseWork], RebasedWork | None] = lambda _: None
        self.place = EvidencePlace.CHANGED

    # --- scripts ---

    def usual(self, call: CallModel) -> Sequence[ToolCall]:
        """Plan, do one command, submit; approve with evidence."""
        if call.role is Role.PLANNER:
            return [tool("submit_plan", **self.plan)]
        if call.role is Role.REVIEWER:
            return [approve()]
        if call.turn == 1:
            return [tool("bash", command=f"work on {call.agent}")]
        return [tool("submit", summary="done")]

    def agents(self) -> list[str]:
        """Return every agent that was heard, in order of its first call."""
        return list(dict.fromkeys(str(call.agent) for call in self.calls))

    def heard(self, agent: str, turn: int) -> str:
        """Return what an agent was sent with one turn, as JSON."""
        call = next(each for each in self.calls if (each.agent, each.turn) == (agent, turn))
        return "".join(message.model_dump_json() for message in call.messages)

    # --- activities ---

    async def export(self, request: ExportBase) -> Base:
        return Base(
            repository=request.repository,
            key="key",
            commit=Commit(name_of("base")),
            tree=Tree(name_of("base tree")),
            branch="main",
            files=3,
            tree_bytes=300,
        )

    async def await_base(self, request: AwaitBase) -> AwaitedBase:
        return AwaitedBase(is_there=False, known=(Commit(name_of("older")),), place="here")

    async def send(self, request: SendBase) -> SentBase:
        self.sent.append(request)
        return SentBase(bundle=None if request.place else Digest("0" * 64))

    async def deliver(self, request: DeliverBranch) -> DeliveryOutcome:
        self.delivered.append(request)
        return Delivered(branch=f"blueflame/{request.session}")

    async def forward(self, request: ForwardBranch) -> ForwardOutcome:
        self.forwarded.append(request)
        reason = self.forward_refused
        return ForwardRefused(reason=reason) if reason else Forwarded()

    async def claim(self, request: ClaimHost) -> HostClaim:
        return HostClaim(host="h", queue="host/h", sandbox=self.sandbox)

    async def import_base(self, request: ImportBase) -> ImportedBase:
        found = GATES if request.gates is None else request.gates
        return ImportedBase(gates=found, brief="three files")

    async def prepare(self, request: PrepareWorktree) -> WorktreeReady:
        self.prepared.append(request)
        return WorktreeReady(checkpoint=request.start)

    async def run_tools(self, request: RunTools) -> ToolsOutcome:
        self.tools.append(request)
        if (waits := self.on_tools(request)) is not None:
            outcome = await waits
            if outcome is not None:
                return outcome
        agent = request.worktree.agent
        seen = tuple(
            Observation(
                call_id=call.id,
                name=call.name,
                text=f"ran {call.name}",
                is_failed=call.arguments.get("path") == self.failing_path,
            )
            for call in request.calls
        )
        commit = Commit(name_of(agent, request.turn))
        return ToolsOutcome(observations=seen, checkpoint=commit, tree=Tree(commit))

    async def finish_task(self, request: FinishTask) -> FinishOutcome:
        self.finished.append(request)
        if (other := self.finish(request)) is not None:
            return other
        commit = Commit(name_of("task", request.task, request.attempt, request.base))
        return TaskCommitted(commit=commit, tree=Tree(name_of(commit)), paths=("a",))

    async def last_checkpoint(self, request: LastCheckpoint) -> RecordedCheckpoint:
        ran = [each for each in self.tools if each.worktree == request.worktree]
        agent = request.worktree.agent
        return RecordedCheckpoint(checkpoint=Commit(name_of(agent, ran[-1].turn)) if ran else None)

    async def read_turn(self, request: ReadTurn) -> TurnRead:
        agent = request.worktree.agent
        ran = {each.turn for each in self.tools if each.worktree.agent == agent}
        is_there = request.turn in ran
        return TurnRead(
            checkpoint=Commit(name_of(agent, request.turn)) if is_there else None,
            base=Commit(name_of("base of", agent)) if is_there else None,
            turns=tuple(sorted(ran)),
        )

    async def remove(self, request: RemoveWorktree) -> Removed:
        self.removed.append(request)
        return Removed()

    async def run_gates(self, request: RunGates) -> GateReport:
        self.judged.append(request)
        fails = request.baseline is not None and self.gate_fails(request)
        results = tuple(
            GateResult(
                gate=gate.name,
                result="failed" if fails else "passed",
                exit_code=int(fails),
                failures=("test_new",) if fails else (),
                excerpt="FAILED test_new" if fails else "",
            )
            for gate in request.gates
        )
        return GateReport(
            tree=Tree(name_of(request.commit)), results=results, notices=self.not_reached
        )

    async def diff(self, request: ReadDiff) -> DiffText:
        return DiffText(text="+a", whole=Digest("1" * 64), paths=("a",))

    async def evidence(self, request: CheckEvidence) -> EvidenceChecked:
        places = tuple(self.place for _ in request.evidence)
        return EvidenceChecked(places=places)

    async def merge_commits(self, request: MergeCommits) -> MergeOutcome:
        if (other := self.merge(request)) is not None:
            return other
        commit = Commit(name_of(request.head, *request.commits))
        return MergedCommits(commit=commit, tree=Tree(name_of(commit)))

    async def rebase_work(self, request: RebaseWork) -> RebasedWork:
        self.rebased.append(request)
        if (other := self.rebase(request)) is not None:
            return other
        return RebasedWork(commit=Commit(name_of("rebased", request.work, request.base)))

    async def advance(self, request: AdvanceBranch) -> Advanced:
        return Advanced(bundle=Digest("2" * 64) if request.since else None)

    async def bundle_branch(self, request: BundleBranch) -> BundledBranch:
        self.bundled.append(request)
        return BundledBranch(bundle=Digest("3" * 64))

    async def resolve(self, request: ResolveModels) -> ResolvedRoutes:
        def facts(names: tuple[str, ...]) -> tuple[ModelFacts, ...]:
            return tuple(model(name, self.usd) for name in names)

        routes = request.routes
        return ResolvedRoutes(
            planner=facts(routes.planner),
            developer=facts(routes.developer),
            reviewer=facts(routes.reviewer),
        )

    async def call(self, request: CallModel) -> ModelOutcome:
        self.calls.append(request)
        self.running[str(request.agent)] += 1
        self.most_running = max(self.most_running, len(self.running))
        try:
            if (waits := self.on_call(request)) is not None:
                outcome = await waits
                if outcome is not None:
                    return outcome
        finally:
            del self.running[str(request.agent)]
        self.spent += self.usd
        return answered(request, *self.script(request), cost_usd=self.usd)

    async def write_report(self, _: WriteReport) -> ReportWritten:
        return ReportWritten()

    async def make_session(self, goal: ScheduledGoal) -> SessionMaking:
        assert self.scheduled is not None, f"nothing is scheduled by {goal.name!r}"
        made = self.scheduled(goal) if callable(self.scheduled) else self.scheduled
        return await made if isinstance(made, Awaitable) else made

    def activities(self) -> Mapping[str, Callable[[Any], Awaitable[Any]]]:
        """Return every fake by the name of its contract."""
        return {
            land_contracts.EXPORT_BASE.name: self.export,
            land_contracts.SEND_BASE.name: self.send,
            land_contracts.DELIVER_BRANCH.name: self.deliver,
            land_contracts.FORWARD_BRANCH.name: self.forward,
            land_contracts.FIND_TARGETS.name: self.messages.find,
            land_contracts.SEND_NOTIFICATION.name: self.messages.send,
            land_contracts.MAKE_SESSION.name: self.make_session,
            land_contracts.WRITE_REPORT.name: self.write_report,
            hosting_contracts.PUBLISH_PULL.name: self.hosting.publish,
            hosting_contracts.LOOK_AT_PULL.name: self.hosting.look,
            host_contracts.CLAIM_HOST.name: self.claim,
            host_contracts.AWAIT_BASE.name: self.await_base,
            host_contracts.IMPORT_BASE.name: self.import_base,
            host_contracts.PREPARE_WORKTREE.name: self.prepare,
            host_contracts.RUN_TOOLS.name: self.run_tools,
            host_contracts.FINISH_TASK.name: self.finish_task,
            host_contracts.LAST_CHECKPOINT.name: self.last_checkpoint,
            host_contracts.READ_TURN.name: self.read_turn,
            host_contracts.REMOVE_WORKTREE.name: self.remove,
            gate_contracts.RUN_GATES.name: self.run_gates,
            host_contracts.READ_DIFF.name: self.diff,
            host_contracts.CHECK_EVIDENCE.name: self.evidence,
            merging_contracts.MERGE_COMMITS.name: self.merge_commits,
            merging_contracts.REBASE_WORK.name: self.rebase_work,
            merging_contracts.ADVANCE_BRANCH.name: self.advance,
            merging_contracts.BUNDLE_BRANCH.name: self.bundle_branch,
            model_contracts.RESOLVE_MODELS.name: self.resolve,
            model_contracts.CALL_MODEL.name: self.call,
        }


class Hold:
    """Makes model calls wait until the test lets them go; set as a world's `on_call`."""

    def __init__(self, wanted: Callable[[CallModel], bool] = lambda _: True) -> None:
        self._wanted = wanted
        self._free = asyncio.Event()
        self.reached = asyncio.Event()
        """Set when the first such call arrived."""

    def __call__(self, call: CallModel) -> Awaitable[ModelOutcome | None] | None:
        """Hold this call, if it is one of those wanted."""
        return self.wait() if self._wanted(call) else None

    async def arrived(self) -> None:
        """Wait until the first such call is held."""
        await ends(self.reached.wait(), "a call that is to be held arrives")

    def release(self) -> None:
        """Let all of them go, from now on."""
        self._free.set()

    async def wait(self) -> None:
        """Wait for the release; for what is no model call."""
        self.reached.set()
        await self._free.wait()

    async def outlast(self) -> None:
        """Wait for the release whatever the cancellation: the work ends before it hears of that."""
        self.reached.set()
        while not self._free.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await self._free.wait()


def approve() -> ToolCall:
    """Return a verdict that counts as an approval."""
    cited = {"criterion": "1", "path": "a", "line_start": 1, "line_end": 1, "quote": "a"}
    return tool("submit_verdict", approve=True, summary="good", evidence=[cited])


def reject(text: str = "wrong") -> ToolCall:
    """Return a verdict that counts as a rejection."""
    return tool("submit_verdict", approve=False, summary="bad", findings=[{"text": text}])
