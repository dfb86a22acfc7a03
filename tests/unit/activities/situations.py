"""An agent on a real repository, through the activities that a workflow would ask.

Git and sandbox are real; only the model is missing: a test says what it calls.
"""

from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from pydantic import JsonValue
from temporalio.testing import ActivityEnvironment

from activities.adapters.blob_store import MemoryStore
from activities.adapters.git.host_git import GitHostRepository
from activities.adapters.git.repository_locks import exclusive
from activities.adapters.shell.bash_parser import parse
from activities.adapters.snapshots.snapshot_store import LocalSnapshots
from activities.base_import import ExportActivities, ImportActivities
from activities.gate_runs import GateActivities
from activities.merging import MergingActivities
from activities.ports.sandbox_port import Sandbox
from activities.repository.host_data import Host, worktree_name
from activities.tool_batches import ToolActivities
from activities.worktrees import WorktreeActivities
from tests.unit.activities.adapters.git.home import SESSION, WHEN, Home
from workflows.contracts.gate_contracts import RunGates
from workflows.contracts.host_contracts import (
    CommitWords,
    FinishOutcome,
    FinishTask,
    ImportBase,
    PrepareWorktree,
    RunTools,
    TaskCommitted,
)
from workflows.contracts.land_contracts import ExportBase, SendBase
from workflows.contracts.merging_contracts import MergeCommits, MergeOutcome
from workflows.domain.agent.agent_values import WorktreeRef
from workflows.domain.agent.messages import ToolCall
from workflows.domain.agent.model_values import Role
from workflows.domain.gate import GateReport, GateResult, GateSpec
from workflows.domain.ids import AgentId, Commit, Digest, TaskId
from workflows.domain.repository import Base, CopiedFile
from workflows.domain.session.session_config import WorktreeConfig

KEY = "k" * 32
Call = tuple[str, Mapping[str, JsonValue]]


def bash(command: str) -> Call:
    """Return a call of the tool `bash`."""
    return "bash", {"command": command}


class SetUp(NamedTuple):
    """What a person wants done in each worktree, and whom that may reach."""

    commands: tuple[tuple[str, ...], ...] = ()
    network: tuple[str, ...] = ()


class Agent:
    """One developer on its worktree."""

    def __init__(
        self, host: Host, base: Commit, task: str, claims: tuple[str, ...], attempt: int = 1
    ) -> None:
        self._host = host
        self._base = base
        self._task = TaskId(task)
        self._claims = claims
        self._attempt = attempt
        self._at = base
        self._turn = 0
        self._folder = ""
        agent = AgentId(f"dev.{task}.{attempt}")
        self._ref = WorktreeRef(session=SESSION, agent=agent, repository=KEY, writable=True)
        self.path = Path()
        """The worktree on the host, once it was prepared."""

    async def prepare(
        self, copied: tuple[CopiedFile, ...] = (), set_up: SetUp | None = None
    ) -> None:
        """Make the worktree."""
        setup, network = set_up or SetUp()
        request = PrepareWorktree(
            worktree=self._ref, start=self._base, setup=setup, network=network, copied=copied
        )
        await ActivityEnvironment().run(WorktreeActivities(self._host).prepare, request)
        repository = self._host.repository(KEY)
        place = await repository.create_worktree(worktree_name(self._ref), self._base)
        self.path = place.path

    async def turn(self, *calls: Call) -> tuple[str, ...]:
        """Make the calls of one turn, checkpoint, and return what was answered."""
        self._turn += 1
        asked = [
            ToolCall(id=f"c{number}", name=name, arguments=dict(arguments))
            for number, (name, arguments) in enumerate(calls)
        ]
        request = RunTools(
            worktree=self._ref,
            role=Role.DEVELOPER,
            turn=self._turn,
            checkpoint=self._at,
            calls=tuple(asked),
            claims=self._claims,
            command_timeout=timedelta(minutes=2),
            folder=self._folder,
            at=WHEN,
        )
        done = await ActivityEnvironment().run(ToolActivities(self._host, parse).run, request)
        self._at, self._folder = done.checkpoint, done.folder
        return tuple(seen.text for seen in done.observations)

    async def submit(
        self, words: CommitWords | None = None, *, keeps_turns: bool = False
    ) -> FinishOutcome:
        """Hand the work in."""
        request = FinishTask(
            worktree=self._ref,
            task=self._task,
            title=f"Work of {self._task}",
            attempt=self._attempt,
            base=self._base,
            checkpoint=self._at,
            claims=self._claims,
            at=WHEN,
            words=words,
            keeps_turns=keeps_turns,
        )
        return await ActivityEnvironment().run(WorktreeActivities(self._host).finish, request)

    async def commit(self) -> Commit:
        """Hand the work in, which must be accepted."""
        done = await self.submit()
        assert isinstance(done, TaskCommitted), done
        return done.commit


class Situation:
    """A person's repository, and a host beside it."""

    def __init__(self, top: Path, sandbox: Sandbox) -> None:
        self.home = Home(top)
        repository = GitHostRepository(self.home.git, top / "host", KEY)
        kept = LocalSnapshots(top / "host", exclusive, 1 << 30)
        self.host = Host("h", "host/h", MemoryStore(), sandbox, lambda _: repository, kept)

    async def known(self, *copies: str, allow_secret: tuple[str, ...] = ()) -> tuple[Base, str]:
        """Look at the repository as a session's start does; return the base and the brief.

        Args:
            copies: ignored files that a person names for worktrees.
            allow_secret: those that may look like secrets.
        """
        worktree = WorktreeConfig(copies=copies, allow_secret=allow_secret)
        export = ExportBase(
            session=SESSION, repository=str(self.home.path), base=None, worktree=worktree
        )
        exporting = ExportActivities(self.home.user, self.host.store)
        base = await ActivityEnvironment().run(exporting.export, export)
        send = SendBase(session=SESSION, repository=base.repository, key=KEY, commit=base.commit)
        sent = await ActivityEnvironment().run(exporting.send, send)
        request = ImportBase(
            session=SESSION,
            key=KEY,
            bundle=sent.bundle,
            names=base.names,
            excludes=base.excludes,
            rules=base.rules,
            shallow=base.shallow,
            commit=base.commit,
            gates=None,
            disk_bytes=0,
            unfilled=base.unfilled,
        )
        importing = ImportActivities(self.host)
        return base, (await ActivityEnvironment().run(importing.import_base, request)).brief

    async def store(self, data: bytes) -> Digest:
        """Keep bytes as the export of the person's files does."""
        return await self.host.store.put(data)

    async def begin(
        self,
        make: Callable[[Home], None],
        *tasks: str,
        claims: tuple[str, ...] = ("**",),
        copied: tuple[CopiedFile, ...] = (),
        set_up: SetUp | None = None,
    ) -> list[Agent]:
        """Make the repository, bring its base to the host, and start an agent for each task."""
        make(self.home)
        await self.home.import_base()
        known = await self.home.user.names(self.home.path, self.home.base)
        await self.home.host.import_names(known.names)
        agents = [Agent(self.host, self.home.base, task, claims) for task in tasks]
        for agent in agents:
            await agent.prepare(copied, set_up)
        return agents

    async def again(
        self,
        task: str,
        head: Commit,
        claims: tuple[str, ...] = ("**",),
        copied: tuple[CopiedFile, ...] = (),
    ) -> Agent:
        """Start a second attempt of a task, on what was merged meanwhile."""
        agent = Agent(self.host, head, task, claims, attempt=2)
        await agent.prepare(copied)
        return agent

    async def gate(
        self, commit: Commit, *argv: str, copied: tuple[CopiedFile, ...] = ()
    ) -> GateResult:
        """Judge a commit by one gate."""
        return (await self.report(commit, *argv, copied=copied)).results[0]

    async def report(
        self,
        commit: Commit,
        *argv: str,
        copied: tuple[CopiedFile, ...] = (),
        set_up: SetUp | None = None,
        then: tuple[str, ...] = (),
        baseline: GateReport | None = None,
    ) -> GateReport:
        """Judge a commit by one gate, or two, after a set-up; return all that is said."""
        setup, network = set_up or SetUp()
        request = RunGates(
            session=SESSION,
            key=KEY,
            commit=commit,
            gates=tuple(
                GateSpec(name=name, argv=each)
                for name, each in (("check", argv), ("then", then))
                if each
            ),
            baseline=baseline,
            setup=setup,
            network=network,
            copied=copied,
        )
        return await ActivityEnvironment().run(GateActivities(self.host).run, request)

    async def output(self, report: GateReport, number: int = 0) -> bytes:
        """Return what a gate of a report said."""
        digest = report.results[number].output
        assert digest is not None
        return await self.host.store.get(digest)

    async def merge(self, *commits: Commit, head: Commit | None = None) -> MergeOutcome:
        """Merge the work of several tasks onto the base, or onto what was merged before."""
        onto = head or self.home.base
        request = MergeCommits(
            session=SESSION, key=KEY, head=onto, commits=commits, title="all", at=WHEN
        )
        return await ActivityEnvironment().run(MergingActivities(self.host).merge, request)
