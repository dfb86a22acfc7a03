"""One turn's tool calls on one worktree, exactly once.

The worktree's lock is held and inherited by every process of a call, so it is free only when the
last of them is dead. The ref of the agent's checkpoints is the record: a retry that finds its own
checkpoint there returns what it observed and runs nothing; one that finds any other is fenced.
"""

import asyncio
import hashlib
import json
import time
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from typing import NamedTuple

from pydantic import BaseModel, Field, TypeAdapter
from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.activity_failures import mapped
from activities.ports.host_repository import (
    CheckpointRequest,
    Finding,
    WorktreePlace,
    WorktreeStore,
)
from activities.ports.measures import measure
from activities.ports.sandbox_port import Limits
from activities.repository.host_data import Host, checkpoint_ref, workspace, worktree_name
from activities.toolset.call_judgement import judge_call, judge_write
from activities.toolset.tool_runner import Toolset
from activities.toolset.tool_schemas import sandbox_tools
from activities.uninterrupted import uninterrupted
from workflows.contracts.host_contracts import Observation, RunTools, ToolsOutcome
from workflows.domain.agent.messages import ToolCall
from workflows.domain.agent.shell_tree import Parse
from workflows.domain.agent.tool_policy import Standing
from workflows.domain.ids import Commit, Digest, TaskId, Tree
from workflows.errors import FailureType
from workflows.policy.agent.turn_decisions import SUBMITTING

_Calls = TypeAdapter(tuple[ToolCall, ...])
_FINDINGS_TOLD = 10
_READING = frozenset({"read"})
"""Tools that change nothing: what stood in the worktree before them stands there after them."""
BATCH = timedelta(minutes=50)
"""What the calls of one turn have together: `RUN_TOOLS` gives the whole activity an hour, and one
that it ended would run all of them again."""


class _Record(BaseModel, frozen=True, extra="forbid"):
    """What a checkpoint's blob holds."""

    schema_version: int = Field(default=1, alias="schema", ge=1, le=1)
    calls: Digest
    """Of the calls that were run: a reset agent may ask for others in the same turn."""
    observations: tuple[Observation, ...]
    folder: str = ""


class _Seen(NamedTuple):
    """One call's observation, and the folder in which the next command starts."""

    observation: Observation
    folder: str


class ToolActivities:
    """Activity `tools.run`."""

    def __init__(
        self, host: Host, parse: Parse, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._host = host
        self._parse = parse
        self._clock = clock

    @activity.defn(name="tools.run")
    async def run(self, request: RunTools) -> ToolsOutcome:
        """Run the calls, collect what they did, and commit a checkpoint.

        Raises:
            ApplicationError: Fenced, where another checkpoint than the expected one is the last;
                SandboxUnavailable.
        """
        worktrees = self._host.worktrees(request.worktree.repository)
        history = self._host.history(request.worktree.repository)
        with mapped():
            async with worktrees.lock(worktree_name(request.worktree)) as hold:
                if not request.worktree.writable:
                    return await self._run_reading(worktrees, request, hold)
                tip = await history.tip(checkpoint_ref(request.worktree))
                if tip is not None and tip != request.checkpoint:
                    return await _own(worktrees, request)
                return await self._run_once(worktrees, request, tip, hold)

    async def _run_reading(
        self, worktrees: WorktreeStore, request: RunTools, hold: int
    ) -> ToolsOutcome:
        """Run calls that can change nothing: there is nothing to record, a retry may run them."""
        place = await worktrees.create_worktree(worktree_name(request.worktree), request.checkpoint)
        seen = [each async for each in self._calls(place, request, hold)]
        return ToolsOutcome(
            observations=tuple(each.observation for each in seen),
            checkpoint=request.checkpoint,
            tree=Tree(""),
            folder=seen[-1].folder,
        )

    async def _run_once(
        self,
        worktrees: WorktreeStore,
        request: RunTools,
        tip: Commit | None,
        hold: int,
    ) -> ToolsOutcome:
        name = worktree_name(request.worktree)
        place = await worktrees.create_worktree(name, request.checkpoint)
        await worktrees.restore(name, request.checkpoint)
        seen: list[_Seen] = []
        try:
            async for each in self._calls(place, request, hold):
                seen.append(each)  # noqa: PERF401 (a cancellation must leave what was seen)
        except asyncio.CancelledError:
            if _was_asked_to_stop():
                # The work so far is kept: the attempt ends here and no one repeats this turn.
                await uninterrupted(self._record(worktrees, request, tip, seen))
            raise
        self._host.fail_point("after-run")
        # A batch that ran to its end is recorded, even if it is cancelled now: nothing has to run
        # twice.
        return await uninterrupted(self._record(worktrees, request, tip, seen))

    async def _calls(
        self, place: WorktreePlace, request: RunTools, hold: int
    ) -> AsyncIterator[_Seen]:
        end = self._clock() + BATCH.total_seconds()
        standing = Standing(
            role=request.role,
            claims=request.claims,
            gate_files=request.gate_files,
            rules=request.policy,
        )
        toolset = Toolset(
            sandbox=self._host.sandbox,
            blobs=self._host.store,
            workspace=workspace(
                place, request.worktree.environment, writable=request.worktree.writable
            ),
            tools=sandbox_tools(request.role),
            others=(SUBMITTING[request.role],),
            limits=Limits.within(request.worktree.environment, request.command_timeout),
            may_write=lambda path: judge_write(path, standing),
            judge=lambda call, folder: judge_call(call, standing, self._parse, folder),
            hold=hold,
            time_left=lambda: timedelta(seconds=end - self._clock()),
        )
        folder = request.folder
        for call in request.calls:
            began = self._clock()
            ran = await toolset.run_call(call, folder)
            folder = folder if ran.folder is None else ran.folder
            yield _Seen(
                observation=Observation(
                    call_id=call.id,
                    name=call.name,
                    text=ran.result.text,
                    is_error=ran.result.is_error,
                    is_failed=ran.is_failed,
                    is_broken=ran.is_broken,
                    whole=ran.whole,
                    took=timedelta(seconds=round(self._clock() - began, 3)),
                ),
                folder=folder,
            )

    async def _record(
        self,
        worktrees: WorktreeStore,
        request: RunTools,
        tip: Commit | None,
        seen: list[_Seen],
    ) -> ToolsOutcome:
        began = self._clock()
        name = worktree_name(request.worktree)
        observations = tuple(each.observation for each in seen)
        if all(call.name in _READING for call in request.calls):
            tree = await worktrees.standing_tree(name)
        else:
            collected = await worktrees.collect(name, lists_changes=False)
            tree = collected.tree
            observations = _with_findings(observations, collected.findings)
        folder = seen[-1].folder if seen else request.folder
        checkpoint = CheckpointRequest(
            name=name,
            ref=checkpoint_ref(request.worktree),
            previous=tip,
            parent=request.checkpoint,
            tree=tree,
            session=request.worktree.session,
            task=TaskId(request.worktree.agent),
            attempt=1,
            turn=request.turn,
            observations=_dump(request, observations, folder),
            when=request.at,
        )
        commit = await worktrees.checkpoint(checkpoint)
        self._host.fail_point("after-update-ref")
        measure("blueflame_checkpoint_seconds", self._clock() - began)
        return ToolsOutcome(observations=observations, checkpoint=commit, tree=tree, folder=folder)


async def _own(worktrees: WorktreeStore, request: RunTools) -> ToolsOutcome:
    """Return the recorded outcome where this turn was done already; refuse where it is another's.

    | the agent's last checkpoint            | what follows           |
    |----------------------------------------|------------------------|
    | none, or the one that is expected      | run; not asked here    |
    | this turn's, on it, of the same calls  | return what it records |
    | any other                              | fenced                 |
    """
    recorded = await worktrees.read_checkpoint(checkpoint_ref(request.worktree))
    mine = (request.turn, request.checkpoint)
    if recorded is not None and (recorded.turn, recorded.parent) == mine:
        record = _Record.model_validate_json(recorded.observations)
        if record.calls != _digest(request.calls):
            raise _fenced(request, f"turn {recorded.turn} with other calls ({recorded.commit})")
        return ToolsOutcome(
            observations=record.observations,
            checkpoint=recorded.commit,
            tree=recorded.tree,
            folder=record.folder,
        )
    at = f"turn {recorded.turn} ({recorded.commit})" if recorded else "a commit of someone else"
    raise _fenced(request, at)


def _fenced(request: RunTools, at: str) -> ApplicationError:
    return ApplicationError(
        f"agent {request.worktree.agent!r} is at {at} and not at {request.checkpoint}: "
        "a newer run owns this worktree",
        type=FailureType.FENCED,
        non_retryable=True,
    )


def _dump(request: RunTools, observations: tuple[Observation, ...], folder: str) -> bytes:
    calls = _digest(request.calls)
    record = _Record(schema=1, calls=calls, observations=observations, folder=folder)
    # Times are left out, so that the same turn makes the same checkpoint.
    left_out = {"observations": {"__all__": {"took"}}}
    return record.model_dump_json(by_alias=True, exclude=left_out).encode()


def _digest(calls: tuple[ToolCall, ...]) -> Digest:
    # In ASCII, for a call may hold half of a surrogate pair.
    text = json.dumps(_Calls.dump_python(calls), sort_keys=True)
    return Digest(hashlib.sha256(text.encode()).hexdigest())


def _with_findings(
    seen: tuple[Observation, ...], findings: tuple[Finding, ...]
) -> tuple[Observation, ...]:
    """Tell the agent, with its last observation, what in its worktree is not collected."""
    if not findings or not seen:
        return seen
    lines = [f"{each.path}: {each.text}" for each in findings[:_FINDINGS_TOLD]]
    text = f"{seen[-1].text}\n[not collected, so not part of your work:\n" + "\n".join(lines) + "]"
    last = Observation(
        call_id=seen[-1].call_id,
        name=seen[-1].name,
        text=text,
        is_error=seen[-1].is_error,
        is_failed=True,
        is_broken=seen[-1].is_broken,
        whole=seen[-1].whole,
        took=seen[-1].took,
    )
    return (*seen[:-1], last)


def _was_asked_to_stop() -> bool:
    """Say whether the workflow cancelled this, and not a worker that shuts down."""
    details = activity.cancellation_details()
    return details is not None and details.cancel_requested
