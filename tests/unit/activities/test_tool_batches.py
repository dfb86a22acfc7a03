"""A turn's tool calls exactly once, with real git: what a retry does after each kind of end.

The server is not needed for this: a retry is the same request again, on what the last try left.
"""

import asyncio
import itertools
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from temporalio.activity import ActivityCancellationDetails
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from activities.adapters.blob_store import MemoryStore
from activities.adapters.git.host_git import GitHostRepository, Seams
from activities.adapters.git.repository_locks import Locking, exclusive
from activities.adapters.sandbox.bubblewrap import BubblewrapSandbox
from activities.adapters.sandbox.unconfined import UnconfinedSandbox
from activities.adapters.shell.bash_parser import parse
from activities.adapters.snapshots.snapshot_store import LocalSnapshots
from activities.ports.sandbox_port import Sandbox
from activities.repository.host_data import Host, checkpoint_ref, worktree_name
from activities.tool_batches import BATCH, ToolActivities
from activities.worktrees import WorktreeActivities
from tests.fakes.locks import not_locked
from tests.unit.activities.adapters.git.home import SESSION, WHEN, Home, ToldGit
from tests.waiting import shell_until, until
from workflows.contracts.host_contracts import (
    RUN_TOOLS,
    FinishTask,
    PrepareWorktree,
    RunTools,
    ToolsOutcome,
    WorkRefused,
)
from workflows.domain.agent.agent_values import WorktreeRef
from workflows.domain.agent.messages import ToolCall
from workflows.domain.agent.model_values import Role
from workflows.domain.agent.tool_policy import ToolPolicy
from workflows.domain.ids import AgentId, Commit, SessionId, TaskId
from workflows.domain.violation import DiffRule
from workflows.errors import FailureType

KEY = "k" * 32
AGENT = AgentId("dev.a.1")
APPEND = "echo run >> log.txt"
COUNT = "echo run >> count.seen; "
"""Ignored files survive a restoration, so this one counts how often a command was really run."""


class Crash(BaseException):
    """Stands for the end of the process at a fail point."""


def crash() -> None:
    raise Crash


class Bench:
    """One agent's worktree, and hosts that share its disk."""

    def __init__(
        self,
        home: Home,
        sandbox: Sandbox,
        session: SessionId = SESSION,
        agent: AgentId = AGENT,
    ) -> None:
        self.home = home
        self.sandbox = sandbox
        self.ref = WorktreeRef(session=session, agent=agent, repository=KEY, writable=True)
        self.name = worktree_name(self.ref)
        self.path = Path()

    async def prepare(self) -> None:
        self.home.make({"README.md": "x\n", ".gitignore": "*.seen\n"})
        self.path = await self.home.start(self.name)

    def activities(self, locking: Locking = exclusive, **at: Callable[[], None]) -> ToolActivities:
        """Return what one worker process offers; `at` says what happens at fail points."""
        return ToolActivities(self.host(locking, **at), parse)

    def host(self, locking: Locking = exclusive, **at: Callable[[], None]) -> Host:
        """Return one worker process's means."""

        def fail_point(name: str) -> None:
            at.get(name.replace("-", "_"), lambda: None)()

        seams = Seams(locking, fail_point)
        repository = GitHostRepository(self.home.git, self.home.top / "host", KEY, seams)
        kept = LocalSnapshots(self.home.top / "host", locking, 1 << 30)
        return Host(
            name="h",
            queue="host/h",
            store=MemoryStore(),
            sandbox=self.sandbox,
            repository=lambda _: repository,
            snapshots=kept,
            fail_point=fail_point,
        )

    def request(self, *commands: str, turn: int = 1, at: Commit | None = None) -> RunTools:
        calls = [
            ToolCall(id=f"c{number}", name="bash", arguments={"command": command})
            for number, command in enumerate(commands)
        ]
        return RunTools(
            worktree=self.ref,
            role=Role.DEVELOPER,
            turn=turn,
            checkpoint=at or self.home.base,
            calls=tuple(calls),
            claims=("**",),
            command_timeout=timedelta(minutes=5),
            at=WHEN,
        )

    async def run(self, request: RunTools) -> ToolsOutcome:
        return await ActivityEnvironment().run(self.activities().run, request)

    async def recorded(self) -> Commit | None:
        found = await self.home.host.read_checkpoint(checkpoint_ref(self.ref))
        return found.commit if found else None

    async def lines(self, commit: Commit, name: str = "log.txt") -> list[str]:
        return ((await self.home.host.read_file(commit, name)) or b"").decode().split()

    def runs(self) -> int:
        """Return how often the command was started, undone runs included."""
        return len((self.path / "count.seen").read_text().split())


SANDBOXES = [
    pytest.param(UnconfinedSandbox, id="unconfined"),
    pytest.param(BubblewrapSandbox, id="bubblewrap", marks=pytest.mark.sandbox),
]


@pytest.fixture(params=SANDBOXES)
async def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    made = Bench(Home(tmp_path), request.param())
    await made.prepare()
    return made


async def started(bench: Bench) -> None:
    """Wait until the command of a batch has begun: only its own files tell."""
    await until((bench.path / "begun.seen").exists, "the command has begun")


def fails_with(kind: FailureType, failure: pytest.ExceptionInfo[ApplicationError]) -> bool:
    return failure.value.type == kind and failure.value.non_retryable


def untimed(outcome: ToolsOutcome) -> dict[str, Any]:
    """What a checkpoint records: all but how long the calls took."""
    return outcome.model_dump(exclude={"observations": {"__all__": {"took"}}})


async def test_a_retry_finds_its_own_checkpoint_and_runs_nothing(bench: Bench):
    request = bench.request(COUNT + APPEND + "; cat log.txt")
    first = await bench.run(request)
    again = await bench.run(request)
    assert untimed(again) == untimed(first)
    assert await bench.lines(first.checkpoint) == ["run"]
    assert bench.runs() == 1


async def test_the_next_turn_builds_on_the_checkpoint(bench: Bench):
    first = await bench.run(bench.request(APPEND))
    second = await bench.run(bench.request(APPEND, turn=2, at=first.checkpoint))
    assert await bench.lines(second.checkpoint) == ["run", "run"]


async def test_a_turn_that_only_reads_searches_for_no_change(bench: Bench):
    bench.home.git = git = ToldGit()
    activities, run = bench.activities(), ActivityEnvironment().run
    first = await run(activities.run, bench.request(APPEND))
    assert "ls-files -z -o --exclude-standard" in git.told
    git.told.clear()
    read = ToolCall(id="r", name="read", arguments={"path": "log.txt"})
    request = bench.request(APPEND, turn=2, at=first.checkpoint)
    second = await run(activities.run, request.model_copy(update={"calls": (read, read)}))
    assert git.told == []
    assert [each.text.split() for each in second.observations] == [["1", "run"]] * 2
    assert (second.tree, await bench.recorded()) == (first.tree, second.checkpoint)
    third = await bench.run(bench.request(APPEND, turn=3, at=second.checkpoint))
    assert await bench.lines(third.checkpoint) == ["run", "run"]


@pytest.mark.parametrize(("setup", "is_restored"), [((), False), ((("true",),), True)])
async def test_the_first_turn_restores_a_worktree_only_where_set_up_ran(
    bench: Bench, setup: tuple[tuple[str, ...], ...], is_restored: bool
):
    bench.home.git = git = ToldGit()
    host, run = bench.host(), ActivityEnvironment().run
    prepare = PrepareWorktree(worktree=bench.ref, start=bench.home.base, setup=setup)
    await run(WorktreeActivities(host).prepare, prepare)
    git.told.clear()
    done = await run(ToolActivities(host, parse).run, bench.request(APPEND))
    assert any(each.startswith("read-tree") for each in git.told) == is_restored
    assert await bench.lines(done.checkpoint) == ["run"]


async def test_another_turns_checkpoint_fences_a_late_retry(bench: Bench):
    late = bench.request(COUNT + APPEND)
    first = await bench.run(late)
    second = await bench.run(bench.request(APPEND, turn=2, at=first.checkpoint))
    with pytest.raises(ApplicationError) as failure:
        await bench.run(late)
    assert fails_with(FailureType.FENCED, failure)
    assert await bench.recorded() == second.checkpoint
    assert bench.runs() == 1


async def test_another_start_at_the_same_turn_is_fenced(bench: Bench):
    await bench.run(bench.request(APPEND))
    other = bench.home.commit({"other": "y\n"})
    with pytest.raises(ApplicationError) as failure:
        await bench.run(bench.request(APPEND, at=other))
    assert fails_with(FailureType.FENCED, failure)


async def test_other_calls_in_the_same_turn_are_fenced(bench: Bench):
    first = await bench.run(bench.request(APPEND))  # then the agent's workflow is reset
    with pytest.raises(ApplicationError, match="turn 1 with other calls") as failure:
        await bench.run(bench.request(APPEND, APPEND))
    assert fails_with(FailureType.FENCED, failure)
    assert await bench.recorded() == first.checkpoint


async def test_half_a_surrogate_pair_in_a_call_is_no_fault(bench: Bench):
    request = bench.request(f"{APPEND} # \ud83d")
    assert untimed(await bench.run(request)) == untimed(await bench.run(request))


async def test_the_longest_names_have_room(tmp_path: Path):
    agent = AgentId(f"review.{'t' * 63}.999.999")
    bench = Bench(Home(tmp_path), UnconfinedSandbox(), session=SessionId("A" * 26), agent=agent)
    await bench.prepare()
    first = await bench.run(bench.request(APPEND))
    second = await bench.run(bench.request(APPEND, turn=2, at=first.checkpoint))
    assert await bench.lines(second.checkpoint) == ["run", "run"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("point", ["after_run", "after_commit"])
async def test_a_crash_before_the_ref_moves_is_undone_and_run_again(bench: Bench, point: str):
    request = bench.request(COUNT + APPEND, "echo left > untracked; cat log.txt")
    with pytest.raises(Crash):
        await ActivityEnvironment().run(bench.activities(**{point: crash}).run, request)  # pyright: ignore[reportArgumentType] (one of two names)
    assert await bench.recorded() is None
    done = await bench.run(request)
    assert await bench.lines(done.checkpoint) == ["run"]
    assert done.observations[1].text.split()[0] == "run"
    assert bench.runs() == 2


async def test_a_crash_after_the_ref_moved_has_settled_the_turn(bench: Bench):
    request = bench.request(COUNT + APPEND)
    with pytest.raises(Crash):
        await ActivityEnvironment().run(bench.activities(after_update_ref=crash).run, request)
    settled = await bench.recorded()
    done = await bench.run(request)
    assert done.checkpoint == settled
    assert bench.runs() == 1


async def test_what_a_killed_batch_left_is_taken_back(bench: Bench):
    async with bench.home.host.lock(bench.name):
        await bench.home.host.restore(bench.name, bench.home.base)  # as a batch begins
    (bench.path / "log.txt").write_text("half\n")
    (bench.path / "stray").mkdir()
    (bench.path / "stray" / "file").write_text("x")
    (bench.path / "README.md").unlink()
    done = await bench.run(bench.request(APPEND))
    assert await bench.lines(done.checkpoint) == ["run"]
    assert await bench.home.host.paths(done.checkpoint) == (".gitignore", "README.md", "log.txt")


async def test_a_worktree_that_is_gone_is_made_again(bench: Bench):
    first = await bench.run(bench.request(APPEND))
    await bench.home.host.remove_worktree(bench.name)
    second = await bench.run(bench.request(APPEND, turn=2, at=first.checkpoint))
    assert await bench.lines(second.checkpoint) == ["run", "run"]


async def test_a_stop_by_the_workflow_records_the_work_so_far(bench: Bench):
    """Field report R54."""
    environment = ActivityEnvironment()
    request = bench.request(APPEND, "touch begun.seen; sleep 600", "echo never >> log.txt")
    running = asyncio.ensure_future(environment.run(bench.activities().run, request))
    await started(bench)
    environment.cancel(ActivityCancellationDetails(cancel_requested=True))
    with pytest.raises(asyncio.CancelledError):
        await running
    recorded = await bench.recorded()
    assert recorded is not None
    assert await bench.lines(recorded) == ["run"]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "details",
    [
        ActivityCancellationDetails(worker_shutdown=True),
        ActivityCancellationDetails(not_found=True),
        ActivityCancellationDetails(timed_out=True),
    ],
)
async def test_a_worker_that_ends_or_is_given_up_records_no_half_turn(
    bench: Bench, details: ActivityCancellationDetails
):
    environment = ActivityEnvironment()
    request = bench.request(APPEND, "test -e begun.seen || { touch begun.seen; sleep 600; }")
    running = asyncio.ensure_future(environment.run(bench.activities().run, request))
    await started(bench)
    environment.cancel(details)
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await bench.recorded() is None
    done = await bench.run(request)
    assert await bench.lines(done.checkpoint) == ["run"]


async def test_a_batch_that_has_run_is_recorded_despite_a_cancellation(bench: Bench):
    environment = ActivityEnvironment()

    def cancel_now() -> None:
        environment.cancel(ActivityCancellationDetails(worker_shutdown=True))

    request = bench.request(COUNT + APPEND)
    with pytest.raises(asyncio.CancelledError):
        await environment.run(bench.activities(after_run=cancel_now).run, request)
    done = await bench.run(request)
    assert await bench.lines(done.checkpoint) == ["run"]
    assert bench.runs() == 1


SLOW = f"touch begun.seen; {shell_until('go.seen')}; "


async def two_at_once(bench: Bench, locking: Locking) -> ToolsOutcome | BaseException:
    """Run a batch in a worker that stalls, and its retry in another; return what the first saw."""
    request = bench.request(f"echo begun >> log.txt; {COUNT}{SLOW}{APPEND}")

    async def worker() -> ToolsOutcome:
        return await ActivityEnvironment().run(bench.activities(locking=locking).run, request)

    first = asyncio.ensure_future(worker())
    await started(bench)
    (bench.path / "begun.seen").unlink()
    second = asyncio.ensure_future(worker())
    if locking is not exclusive:
        await started(bench)
    (bench.path / "go.seen").touch()
    done, _ = await asyncio.gather(first, second, return_exceptions=True)
    return done


async def test_a_second_worker_waits_and_takes_over_the_result(bench: Bench):
    done = await two_at_once(bench, exclusive)
    assert isinstance(done, ToolsOutcome)
    assert await bench.lines(done.checkpoint) == ["begun", "run"]
    assert bench.runs() == 1


async def test_without_the_lock_the_same_batch_runs_twice(bench: Bench):
    # What either of them then sees is chance: they also collide in git.
    await two_at_once(bench, not_locked)
    assert bench.runs() == 2
    assert (bench.path / "log.txt").read_text().split().count("run") == 2


async def test_the_calls_of_a_turn_share_one_deadline(bench: Bench):
    at = itertools.count(step=20 * 60)  # each look at the clock is twenty minutes later
    host = bench.host()
    request = bench.request(APPEND, APPEND, "echo never >> log.txt")
    activities = ToolActivities(host, parse, clock=lambda: float(next(at)))
    done = await ActivityEnvironment().run(activities.run, request)
    assert await bench.lines(done.checkpoint) == ["run"]
    assert [each.is_error for each in done.observations] == [False, True, True]
    assert done.observations[2].text.startswith("Not run, because")


def test_the_deadline_leaves_time_to_collect():
    longest = RUN_TOOLS.start_to_close
    assert longest - BATCH >= timedelta(minutes=10)


async def test_reading_agents_leave_no_checkpoint(bench: Bench):
    reading = bench.request("cat README.md").model_copy(
        update={
            "worktree": bench.ref.model_copy(update={"writable": False}),
            "role": Role.REVIEWER,
        }
    )
    done = await bench.run(reading)
    assert done.checkpoint == bench.home.base
    assert await bench.recorded() is None


async def test_the_policy_denies_one_call_and_the_others_of_the_turn_run(bench: Bench):
    request = bench.request(APPEND, "git push; echo x >> log.txt", "make deploy", APPEND)
    policy = ToolPolicy(deny_commands=("make deploy",), protected_paths=("baseline.txt",))
    outcome = await bench.run(request.model_copy(update={"policy": policy}))
    texts = [each.text for each in outcome.observations]
    assert [each.is_error for each in outcome.observations] == [False, True, True, False]
    assert texts[1].startswith("Denied by rule 'git-remote': ")
    assert texts[2].startswith("Denied by rule 'deny-commands': 'make deploy' is, or may be, ")
    assert await bench.lines(outcome.checkpoint) == ["run", "run"]


def finishing(bench: Bench, checkpoint: Commit) -> FinishTask:
    return FinishTask(
        worktree=bench.ref,
        task=TaskId("t"),
        title="t",
        attempt=1,
        base=bench.home.base,
        checkpoint=checkpoint,
        claims=("**",),
        at=WHEN,
    )


@pytest.mark.parametrize("is_restarted", [False, True])
async def test_what_the_last_turn_collected_is_not_collected_again(
    bench: Bench, is_restarted: bool
):
    bench.home.git = git = ToldGit()
    host, run = bench.host(), ActivityEnvironment().run
    linking = bench.request("ln -s /etc leak; mkfifo pipe; " + APPEND)
    first = await run(ToolActivities(host, parse).run, linking)
    read = ToolCall(id="r", name="read", arguments={"path": "log.txt"})
    request = bench.request(APPEND, turn=2, at=first.checkpoint).model_copy(
        update={"calls": (read,)}
    )
    done = await run(ToolActivities(host, parse).run, request)
    git.told.clear()
    finishing_host = bench.host() if is_restarted else host
    finish = WorktreeActivities(finishing_host).finish
    refused = await run(finish, finishing(bench, done.checkpoint))
    assert isinstance(refused, WorkRefused)
    assert [(each.rule, each.path) for each in refused.findings] == [(DiffRule.SYMLINK, "leak")]
    listed = [each for each in git.told if each.startswith(("diff-files", "ls-files -z -o --exc"))]
    assert len(listed) == (2 if is_restarted else 0)


async def test_a_finished_task_is_judged_by_what_the_person_protects(bench: Bench):
    first = await bench.run(bench.request("echo x > $(echo baseline.txt)"))
    finish = finishing(bench, first.checkpoint).model_copy(
        update={"policy": ToolPolicy(protected_paths=("baseline.txt",))}
    )
    worktrees = WorktreeActivities(bench.host(exclusive))
    refused = await ActivityEnvironment().run(worktrees.finish, finish)
    assert isinstance(refused, WorkRefused)
    assert [each.text for each in refused.findings] == [
        "'baseline.txt' is protected: agents never change it; leave it as it is"
    ]
