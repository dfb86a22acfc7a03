"""Upgrades on the bundled server: sessions end on the build that started them, or say why not."""

import asyncio
import contextlib
import json
import shutil
import subprocess
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from functools import partial
from pathlib import Path

import pytest
from temporalio import workflow
from temporalio.api.enums.v1 import EventType
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from starter.console.exit_codes import ExitCode
from starter.sessions.fleet_health import health
from starter.sessions.session_client import Sessions
from starter.sessions.worker_presence import why_unanswered
from tests.e2e.note_session import DEVELOPER, PLANNER, REVIEWER, NotePlace
from tests.e2e.processes import blueflame, children, end, environment, kill, up
from tests.servers import running_server
from tests.waiting import text_of, until, until_blocking
from workers.server.supervisor import READY_LINE
from workers.settings import Settings
from workers.telemetry.fleet import read_fleet
from workers.temporal.connection import connect
from workers.versions import deployment, kept_code
from workflows import queues
from workflows.domain.ids import SessionId
from workflows.domain.session.session_config import Approvals, Routes, SessionConfig
from workflows.domain.session.session_start import SessionRequest
from workflows.errors import INTERNAL_ERRORS

pytestmark = pytest.mark.e2e


@contextlib.contextmanager
def fake_worker(settings: Settings, build: str) -> "Generator[subprocess.Popen[bytes]]":
    """Run a worker process of a build, with the fake session."""
    settings.data_dir.mkdir(exist_ok=True)
    log = settings.data_dir / f"worker-{build}.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "tests.e2e.fake_worker", "--roles", "workflows"],
            env=environment(
                settings, BLUEFLAME_BUILD=build, BLUEFLAME_SERVER=settings.server or ""
            ),
            stdout=out,
            stderr=out,
        )
        try:
            said = partial(text_of, log)
            until_blocking(lambda: READY_LINE in said(), "the worker serves", seen=said)
            yield process
        finally:
            end(process)


@pytest.fixture
async def client(tmp_path: Path) -> AsyncGenerator[Client]:
    with running_server(tmp_path) as address:
        yield await connect(Settings(data_dir=tmp_path / "data", server=address.address))


def settings_of(client: Client, tmp_path: Path) -> Settings:
    server = client.service_client.config.target_host
    return Settings(data_dir=tmp_path / "data", server=server)


def request(name: str) -> SessionRequest:
    routes = Routes(planner=("scripted/a",), developer=("scripted/a",), reviewer=("scripted/b",))
    config = SessionConfig(routes=routes, approvals=Approvals(changeset="auto_if_green"))
    return SessionRequest(session=SessionId(name), goal="a goal", repository="/r", config=config)


async def builds_of_steps(client: Client, session: str) -> list[str]:
    """Return the build of each workflow task that a session completed."""
    history = await client.get_workflow_handle(f"session/{session}").fetch_history()
    done = EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
    return [
        each.workflow_task_completed_event_attributes.deployment_version.build_id
        for each in history.events
        if each.event_type == done
    ]


def _is_listed(client: Client, build: str) -> Callable[[], Awaitable[bool]]:
    async def is_listed() -> bool:
        return await deployment.builds_in_use(client) == frozenset([build])

    return is_listed


@pytest.mark.slow
async def test_a_session_ends_on_its_own_build_while_another_is_current(
    client: Client, tmp_path: Path
) -> None:
    settings, sessions = settings_of(client, tmp_path), Sessions(client)
    with fake_worker(settings, "1.0-a"):
        await sessions.start(request("old"))
        assert (await sessions.view(SessionId("old"))).live
        with fake_worker(settings, "1.0-b"):
            assert await deployment.current_build(client) == "1.0-b"
            await sessions.start(request("new"))
            await until(_is_listed(client, "1.0-a"), "the list knows the older build")
            for name in ("old", "new"):
                await sessions.signal(SessionId(name), "approve_plan", {})
                await sessions.result(SessionId(name))
    assert set(await builds_of_steps(client, "old")) == {"1.0-a"}
    assert set(await builds_of_steps(client, "new")) == {"1.0-b"}


@pytest.mark.slow
async def test_a_build_takes_over_when_it_is_new_or_when_no_one_serves_the_current_one(
    client: Client, tmp_path: Path
) -> None:
    settings = settings_of(client, tmp_path)
    with fake_worker(settings, "1.0-a"):
        assert await deployment.current_build(client) == "1.0-a"
        with fake_worker(settings, "1.0-b"):
            assert await deployment.current_build(client) == "1.0-b"
            with fake_worker(settings, "1.0-a"):  # an older worker that merely restarts
                assert await deployment.current_build(client) == "1.0-b"
                said = text_of(settings.data_dir / "worker-1.0-a.log")
                assert "build '1.0-a' only finishes its own sessions" in said
        with fake_worker(settings, "1.0-a"):  # a rollback: no worker of 1.0-b is left
            assert await deployment.current_build(client) == "1.0-a"


@pytest.mark.slow
async def test_up_on_a_machine_of_an_older_build_takes_no_new_sessions_when_its_worker_restarts(
    client: Client, tmp_path: Path
) -> None:
    older, newer = (_machine_of(client, tmp_path / name, name) for name in ("1.0-a", "1.0-b"))
    with up(older) as supervisor:
        assert await deployment.current_build(client) == "1.0-a"
        with up(newer):
            assert await deployment.current_build(client) == "1.0-b"
            (worker,) = children(supervisor.pid)
            kill(worker)
            said = partial(text_of, older.logs_dir / "worker-workflows.log")
            await until(lambda: "'1.0-a' only finishes" in said(), "it restarts", seen=said)
            assert await deployment.current_build(client) == "1.0-b"


def _machine_of(client: Client, folder: Path, build: str) -> Settings:
    """Return the settings of a machine of its own that uses the client's server."""
    server = {"TEMPORAL_ADDRESS": client.service_client.config.target_host}
    return Settings(data_dir=folder, build=build, temporal=server)


@workflow.defn(name="SessionWorkflow", failure_exception_types=INTERNAL_ERRORS)
class TimedSession:
    """Its first step is a timer, which the fake session does not have: neither fits the other."""

    def __init__(self) -> None:
        self._is_approved = False

    @workflow.run
    async def run(self, _: SessionRequest) -> str:
        await workflow.wait_condition(lambda: self._is_approved, timeout=3_600)
        return "ended"

    @workflow.signal
    def approve_plan(self, _: object) -> None:
        self._is_approved = True


@contextlib.asynccontextmanager
async def timed_worker(client: Client, build: str) -> AsyncGenerator[None]:
    """Run the timed session as a build, and make that the current one."""
    await deployment.make_current(client, build)
    worker = Worker(
        client,
        task_queue=queues.WORKFLOWS,
        workflows=[TimedSession],
        workflow_runner=UnsandboxedWorkflowRunner(),
        deployment_config=deployment.pinned(build),
    )
    async with worker:
        yield


async def _begun(client: Client) -> Sessions:
    """Start the session `old` on build 1.0-a, whose worker then ends."""
    sessions = Sessions(client)
    async with timed_worker(client, "1.0-a"):
        await sessions.start(request("old"))
        await until(lambda: builds_of_steps(client, "old"), "its first step is done")
    return sessions


@pytest.mark.slow
async def test_a_session_whose_build_is_gone_waits_and_says_so(
    client: Client, tmp_path: Path
) -> None:
    settings, sessions, old = settings_of(client, tmp_path), await _begun(client), SessionId("old")
    with fake_worker(settings, "1.0-b"):
        view = await sessions.view(old)
        assert "it belongs to build '1.0-a', which has no running worker" in view.reason
        await until(lambda: _listed_notice(sessions), "`ls` names the build")
        assert "build '1.0-a', which has no running worker" in await _problems(client)


@pytest.mark.slow
async def test_a_session_that_the_code_does_not_fit_waits_and_says_so(
    client: Client, tmp_path: Path
) -> None:
    settings, sessions, old = settings_of(client, tmp_path), await _begun(client), SessionId("old")
    handle = client.get_workflow_handle("session/old")
    with fake_worker(settings, "1.0-b"):
        await deployment.move(client, handle.id, "1.0-b")
        await sessions.signal(old, "approve_plan", {})
        await until(lambda: _problem_with(client, "Nondeterminism"), "the code fails")
        why = await why_unanswered(client, handle.id, scripted=False)
        assert "the workflow code fails and is tried again" in why
        assert (await handle.describe()).status is WorkflowExecutionStatus.RUNNING
    async with timed_worker(client, "1.0-a"):
        await deployment.move(client, handle.id, "1.0-a")
        assert await handle.result() == "ended"


async def _problems(client: Client) -> str:
    found = health(await read_fleet(client), "here", 10**12)
    return "; ".join(found.problems)


async def _problem_with(client: Client, word: str) -> bool:
    return word in await _problems(client)


async def _listed_notice(sessions: Sessions) -> bool:
    (listed,) = await sessions.list(9)
    return listed.notice == "no worker of build 1.0-a"


class Upgraded:
    """One place whose program is of another build now and then."""

    def __init__(self, root: Path) -> None:
        self.place = NotePlace(root, "approvals: {unjudged: allow}", PLANNER, DEVELOPER, REVIEWER)
        self.build = ""

    def types(self, *arguments: str, code: ExitCode = ExitCode.COMPLETE) -> str:
        """Type one command with the program of the present build."""
        more = {"BLUEFLAME_BUILD": self.build}
        done = blueflame(self.place.settings, *arguments, more=more)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def install(self, build: str) -> None:
        """End the workers, and start those of another build."""
        self.types("up", "--stop")
        self.build = build
        self.types("up", "--detach", "--playbook", str(self.place.playbook))

    def begin(self) -> str:
        """Start a session, which waits for its plan's approval; return its id."""
        place = self.place
        options = ("--repo", str(place.repository), "--config", str(place.config))
        played = ("--playbook", str(place.playbook))
        said = self.types("run", "A note", *options, *played, "--json", code=ExitCode.WAITING)
        return str(json.loads(said.splitlines()[-1])["session"])

    def finish(self, session: str) -> None:
        """Approve all that waits, and follow the session to its end."""
        self.types("approve", "plan", "--session", session)
        self.types("watch", session, "--json", code=ExitCode.WAITING)
        self.types("approve", "note", "--session", session)
        self.types("watch", session, "--json")

    def current(self) -> str:
        """Return the build that new sessions start on."""

        async def read() -> str:
            return await deployment.current_build(await connect(self.place.settings))

        return asyncio.run(read())

    def steps(self, session: str) -> set[str]:
        """Return the builds that did a session's steps."""

        async def read() -> set[str]:
            return set(await builds_of_steps(await connect(self.place.settings), session))

        return asyncio.run(read())


@pytest.fixture
def upgraded(tmp_path: Path) -> Generator[Upgraded]:
    made = Upgraded(tmp_path)
    yield made
    blueflame(made.place.settings, "up", "--stop")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_up_finishes_a_session_of_the_build_before_with_its_kept_code(upgraded: Upgraded) -> None:
    upgraded.install("1.0-a")
    session = upgraded.begin()
    upgraded.install("1.0-b")
    upgraded.finish(session)
    assert upgraded.steps(session) == {"1.0-a"}
    assert upgraded.current() == "1.0-b"
    upgraded.install("1.0-a")  # back to the release before
    assert upgraded.current() == "1.0-a"


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_session_whose_code_is_gone_waits_until_it_is_adopted(upgraded: Upgraded) -> None:
    upgraded.install("1.0-a")
    session = upgraded.begin()
    shutil.rmtree(kept_code.builds_dir(upgraded.place.settings) / "1.0-a")
    upgraded.install("1.0-b")
    assert "it belongs to build '1.0-a', which has no running worker" in upgraded.types("status")
    assert "no worker of build 1.0-a" in upgraded.types("ls")
    assert "build '1.0-a'" in upgraded.types("health", code=ExitCode.FAILED)
    assert "build 1.0-b fits" in upgraded.types("replay", session)
    assert "open workflows go on with build 1.0-b" in upgraded.types("replay", session, "--adopt")
    upgraded.finish(session)
    assert upgraded.steps(session) == {"1.0-a", "1.0-b"}
