"""One session, undisturbed or under kills at seeded random points; and what became of it.

A point is a moment of the undisturbed run: so many seconds after its n-th model call. In a
disturbed run the n-th call is awaited, and then those seconds, so that points hit the same phases
however slow the machine or the recovery is.
"""

import asyncio
import itertools
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from temporalio.client import Client, WorkflowHandle

from tests.crash.play import git, make_repository, start
from tests.crash.stage import SERVER, Stage
from tests.waiting import LONG_PATIENCE, ends, until
from workers.roles import Role
from workflows.domain.session.query_answers import SessionResult, SessionView
from workflows.domain.session.session_modes import SessionPhase

VICTIMS: Final[Sequence[tuple[str, ...]]] = (
    (Role.HOST,),
    (Role.HOST,),
    (Role.MODELS,),
    (Role.WORKFLOWS,),
    (SERVER,),
    (Role.LAND, Role.HOST),
    (SERVER, *Role),
)
"""Who dies together; the last is a power cut."""
_LOOK_SECONDS: Final = 0.02


class Ask(NamedTuple):
    """One turn of one agent."""

    role: str
    task: str | None
    attempt: int
    turn: int

    @property
    def agent(self) -> tuple[str, str | None, int]:
        """Whose turn it is; the play has one agent for each role, task and attempt."""
        return self[:3]


class Point(NamedTuple):
    """When someone is killed, and who."""

    after: int
    """How many different turns have been asked for."""
    delay: float
    """Seconds from then."""
    victims: tuple[str, ...]


@dataclass(frozen=True)
class Course:
    """What became of one session."""

    outcome: str
    tree: str
    """The final tree of its branch."""
    lines: tuple[str, ...]
    """All lines of all logs in that tree."""
    tasks: tuple[tuple[str, str, int], ...]
    """Each task's id, state and attempt."""
    asks: tuple[Ask, ...]
    """Every model call as the provider saw it, repeats included, in order."""
    settled: Counter[tuple[str, int]]
    """By agent's workflow and turn: model calls that the history holds as answered."""
    kills: tuple[tuple[int, int], ...] = ()
    """For each kill, how many asks came before it, and before its victims were dead."""
    moments: tuple[float, ...] = field(default=(), compare=False)
    """When each different turn was first asked for, in seconds from the start; last, the end."""


class Watch:
    """Follows the simulator's log, and knows when someone was killed."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._first = len(stage.simulator.log.entries)
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self.moments: list[float] = []
        self.kills: list[tuple[int, int]] = []

    def killed(self, since: int | None = None) -> None:
        """Note that someone was killed, and is dead.

        Args:
            since: how many asks came before the kill; what is on its way then is heard of after
                it. None: nothing was on its way.
        """
        asks = len(self.asks())
        self.kills.append((asks if since is None else since, asks))

    def asks(self) -> list[Ask]:
        """Return all asks of this session so far."""
        entries: Any = self._stage.simulator.log.entries[self._first :]
        return [Ask(*(entry[field] for field in Ask._fields)) for entry in entries]

    def look(self) -> int:
        """Note what is new and return how many different turns have been asked for."""
        different = len(set(self.asks()))
        while len(self.moments) < different:
            self.moments.append(self._loop.time() - self._began)
        return different

    def end(self) -> None:
        """Note the end of the session."""
        self.look()
        self.moments.append(self._loop.time() - self._began)

    async def follow(self) -> None:
        """Look for ever."""
        while True:
            self.look()
            await asyncio.sleep(_LOOK_SECONDS)

    async def reached(self, count: int) -> None:
        """Wait until so many different turns have been asked for."""
        what = f"{count} turns are asked for"
        await until(lambda: self.look() >= count, what, LONG_PATIENCE, self.look)


Handle = WorkflowHandle[Any, SessionResult]
Disturbance = Callable[[Stage, Watch, Handle], Awaitable[None]]


async def leave_alone(stage: Stage, watch: Watch, handle: Handle) -> None:
    """Disturb nothing."""


async def run(
    stage: Stage,
    name: str,
    disturb: Disturbance = leave_alone,
    **config: Any,
) -> Course:
    """Play the session on a repository of its own, and disturb it.

    Args:
        stage: server and workers.
        name: of the repository.
        disturb: what is done to the running session.
        config: of the session, where it is not the usual; see `play.start`.
    """
    repository = await asyncio.to_thread(make_repository, stage.folder / name)
    watch = Watch(stage)
    following = asyncio.create_task(watch.follow())
    try:
        handle = await start(stage.client, repository, **config)
        await disturb(stage, watch, handle)
        result = await ends(handle.result(), "the session ends", LONG_PATIENCE)
        watch.end()
    finally:
        following.cancel()
    git(repository, "fsck", "--strict")
    tree = git(repository, "rev-parse", f"{result.branch}^{{tree}}") if result.branch else ""
    return Course(
        outcome=result.outcome,
        tree=tree,
        lines=tuple(_lines(repository, result.branch)) if result.branch else (),
        tasks=tuple(sorted((task.id, task.state, task.attempt) for task in result.tasks)),
        asks=tuple(watch.asks()),
        settled=await _settled(stage.client, handle.id),
        kills=tuple(watch.kills),
        moments=tuple(watch.moments),
    )


def striking(points: Sequence[Point]) -> Disturbance:
    """Strike at the points, in their order."""

    async def disturb(stage: Stage, watch: Watch, handle: Handle) -> None:
        for point in points:
            await watch.reached(point.after)
            await asyncio.sleep(point.delay)
            before = len(watch.asks())
            await stage.kill(point.victims)
            watch.killed(before)
            await stage.revive(point.victims)

    return disturb


def dying(name: str) -> Disturbance:
    """Wait until someone ends by itself, at a fail point, and start it again."""

    async def disturb(stage: Stage, watch: Watch, handle: Handle) -> None:
        await stage.actors[name].died()
        watch.killed()
        await stage.restart(name)

    return disturb


async def cut_while_the_plan_waits(stage: Stage, watch: Watch, handle: Handle) -> None:
    """Kill everything while a person thinks about the plan; then they approve it."""

    async def waits() -> bool:
        seen = await handle.query("state", result_type=SessionView)
        return seen.phase is SessionPhase.AWAITING_PLAN

    await until(waits, "the plan waits for approval")
    watch.killed()
    await stage.strike((SERVER, *Role))
    await until(waits, "the plan still waits")
    await handle.signal("approve_plan", {"by": "somebody"})


def points(course: Course, count: int, seed: int) -> list[Point]:
    """Choose random moments of an undisturbed course, each between another two of its calls.

    Two in one gap could kill the same call three times over, which ends an agent by design.
    """
    chance = random.Random(seed)
    moments = course.moments
    gaps = [after - before for before, after in itertools.pairwise(moments)]
    chosen: set[int] = set()
    while len(chosen) < min(count, len(gaps)):
        chosen |= set(chance.choices(range(len(gaps)), weights=gaps))
    return [
        Point(gap + 1, chance.random() * gaps[gap], chance.choice(VICTIMS))
        for gap in sorted(chosen)
    ]


async def _settled(client: Client, session: str) -> Counter[tuple[str, int]]:
    """Count, by agent and turn, the model calls that are answered in the histories."""
    settled: Counter[tuple[str, int]] = Counter()
    converter = client.data_converter
    query = f"WorkflowId STARTS_WITH '{session}/' AND WorkflowType = 'AgentWorkflow'"
    async for found in client.list_workflows(query):
        asked: dict[int, int] = {}
        handle = client.get_workflow_handle(found.id, run_id=found.run_id)
        async for event in handle.fetch_history_events():
            scheduled = event.activity_task_scheduled_event_attributes
            if scheduled.activity_type.name == "models.call":
                (request,) = await converter.decode(scheduled.input.payloads)
                asked[event.event_id] = request["turn"]
            done = event.activity_task_completed_event_attributes
            if done.scheduled_event_id in asked:
                settled[found.id.partition("/")[2], asked[done.scheduled_event_id]] += 1
    return settled


@dataclass(frozen=True)
class Judged:
    """A disturbed course compared with the undisturbed one."""

    lost: tuple[str, ...] = ()
    """What the undisturbed course has and this one lacks."""
    doubled: tuple[str, ...] = ()
    """Effects that happened more than once."""
    repeated: tuple[str, ...] = ()
    """Model calls that were made again although their answer was settled."""


def judge(calm: Course, course: Course) -> Judged:
    """Compare a disturbed course with the undisturbed one."""
    lost: list[str] = []
    if course.outcome != calm.outcome:
        lost.append(f"outcome {course.outcome!r}, not {calm.outcome!r}")
    lost += [f"task {task}" for task in sorted(set(calm.tasks) - set(course.tasks))]
    lost += [f"turn {ask}" for ask in sorted(set(calm.asks) - set(course.asks), key=str)]
    if course.tree != calm.tree:
        lost.append(f"tree {course.tree}, not {calm.tree}")
    doubled = [line for line, count in Counter(course.lines).items() if count > 1]
    doubled += [f"turn {ask}" for ask in sorted(set(course.asks) - set(calm.asks), key=str)]
    return Judged(tuple(lost), tuple(doubled), tuple(repeated_settled(course)))


def repeated_settled(course: Course) -> list[str]:
    """Return the repeats that no kill with the call in flight explains.

    An agent has one call at a time. So a call is settled once its agent asks for the next turn, and
    until then it may repeat only if someone was killed since it was asked for.
    """
    faults = [
        f"{agent} turn {turn} answered {count} times"
        for (agent, turn), count in sorted(course.settled.items())
        if count > 1
    ]
    last: dict[tuple[str, str | None, int], tuple[Ask, int]] = {}
    for place, ask in enumerate(course.asks):
        before = last.get(ask.agent)
        if before is not None:
            earlier, at = before
            killed = any(at < dead and kill <= place for kill, dead in course.kills)
            if ask.turn < earlier.turn or (ask.turn == earlier.turn and not killed):
                faults.append(f"{ask} asked again after {earlier}")
        last[ask.agent] = (ask, place)
    return faults


def _lines(repository: Path, branch: str) -> list[str]:
    names = git(repository, "ls-tree", "-r", "--name-only", branch).splitlines()
    logs = [git(repository, "show", f"{branch}:{name}") for name in names if "log.txt" in name]
    return [line for log in logs for line in log.splitlines()]
