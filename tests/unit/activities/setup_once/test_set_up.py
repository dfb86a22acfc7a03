"""One set-up for many trees, with the real sandbox: run once, seen by all, changed by none."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest
from temporalio.exceptions import ApplicationError

from activities.adapters.sandbox.bubblewrap import BubblewrapSandbox
from activities.ports.sandbox_port import Layering, SandboxCommand, SandboxResult
from tests.dropped import ROOT
from tests.unit.activities.adapters.git.home import Home
from tests.unit.activities.situations import Agent, SetUp, Situation, bash
from tests.waiting import until
from workflows.domain.repository import CopiedFile

pytestmark = pytest.mark.sandbox

INSTALL = "mkdir -p lib && cat deps.txt >lib/installed && echo x >>lib/runs"
FILES: dict[str, str | bytes] = {
    "deps.txt": "one\n",
    "package.json": "{}\n",
    "src/app.py": "one\n",
    ".gitignore": "lib/\n",
}


class CountingSandbox(BubblewrapSandbox):
    """The real sandbox; it remembers what was set up in it."""

    def __init__(self, *, copies: bool = False) -> None:
        super().__init__()
        self.copies = copies
        self.set_ups: list[tuple[str, ...]] = []

    async def layering(self, near: Path) -> Layering:
        found = await super().layering(near)
        return Layering(kind="copied") if self.copies else found

    async def run(self, command: SandboxCommand, hold: int | None = None) -> SandboxResult:
        if ".setup." in str(command.workspace.path):
            self.set_ups.append(command.argv)
        return await super().run(command, hold)


@pytest.fixture(params=["mounted", "copied"])
async def sandbox(request: pytest.FixtureRequest, tmp_path: Path) -> CountingSandbox:
    made = CountingSandbox(copies=request.param == "copied")
    if (found := await made.layering(tmp_path)).kind != request.param:
        pytest.skip(found.reason)
    return made


@pytest.fixture
def situation(tmp_path: Path, sandbox: CountingSandbox) -> Situation:
    return Situation(tmp_path, sandbox)


def make(home: Home) -> None:
    home.make(FILES)


def installing(script: str = INSTALL) -> SetUp:
    return SetUp(commands=(("sh", "-c", script),))


async def begun(situation: Situation, *tasks: str, script: str = INSTALL) -> list[Agent]:
    return await situation.begin(make, *tasks, set_up=installing(script))


@pytest.mark.sampled(2)
async def test_worktrees_at_the_same_time_are_set_up_once(
    situation: Situation, sandbox: CountingSandbox
):
    agents = await begun(situation, "a")
    more = [Agent(situation.host, situation.home.base, task, ("**",)) for task in "bcdef"]
    await asyncio.gather(*(agent.prepare(set_up=installing()) for agent in more))
    said = [await agent.turn(bash("cat lib/installed lib/runs")) for agent in (*agents, *more)]
    assert all("one\nx\n" in each[0] for each in said)
    assert len(sandbox.set_ups) == 1


@pytest.mark.sampled(2)
async def test_agents_and_gates_see_nothing_of_what_another_wrote(situation: Situation):
    one, two = await begun(situation, "one", "two")
    write = "echo {0} >lib/installed; echo {0} >lib/{0}; cat lib/installed"
    await one.turn(bash(write.format("one")), bash("echo changed >src/app.py"))
    await two.turn(bash(write.format("two")), bash("rm lib/runs"))
    assert "two\n" in (await two.turn(bash("ls lib; cat lib/installed")))[0]
    assert "one\n" in (await one.turn(bash("cat lib/installed")))[0]
    assert "installed\none\nruns\n" in (await one.turn(bash("ls lib")))[0]
    commit = await one.commit()
    seen = ("sh", "-c", "cat lib/* src/app.py; ls lib; exit 3")
    report = await situation.report(commit, *seen, set_up=installing())
    assert await situation.output(report) == b"one\nx\nchanged\ninstalled\nruns\n"


@pytest.mark.sampled(2)
async def test_a_gate_finds_nothing_that_another_gate_left(situation: Situation):
    await begun(situation, "a")
    dirty = "echo bad >lib/installed; echo bad >lib/new; rm lib/runs; echo bad >src/app.py"
    clean = "cat lib/installed src/app.py; ls lib; exit 3"
    report = await situation.report(
        situation.home.base, "sh", "-c", dirty, then=("sh", "-c", clean), set_up=installing()
    )
    assert await situation.output(report, 1) == b"one\none\ninstalled\nruns\n"


@pytest.mark.sampled(2)
async def test_a_change_of_a_lock_file_gets_a_set_up_of_its_own(
    situation: Situation, sandbox: CountingSandbox
):
    (agent,) = await begun(situation, "a")
    await agent.turn(bash("echo two >deps.txt"))
    commit = await agent.commit()
    for _ in range(2):
        report = await situation.report(commit, "cat", "lib/installed", set_up=installing())
        assert await situation.output(report) == b"two\n"
    assert len(sandbox.set_ups) == 2


@pytest.mark.sampled(2)
async def test_a_change_of_what_was_not_read_is_not_set_up_again(
    situation: Situation, sandbox: CountingSandbox
):
    (agent,) = await begun(situation, "a")
    await agent.turn(bash("echo two >src/app.py; mkdir src/new; echo x >src/new/x.py"))
    await situation.report(await agent.commit(), "true", set_up=installing())
    assert len(sandbox.set_ups) == 1


@pytest.mark.sampled(2)
async def test_a_set_up_that_reads_the_sources_runs_for_each_change_of_them(
    situation: Situation, sandbox: CountingSandbox
):
    script = "mkdir lib && cp src/*.py lib"
    (agent,) = await begun(situation, "a", script=script)
    await agent.turn(bash("echo two >src/app.py"))
    one = await agent.commit()
    report = await situation.report(one, "cat", "lib/app.py", set_up=installing(script))
    assert await situation.output(report) == b"two\n"
    await agent.turn(bash("git checkout -q src 2>&1; echo one >src/app.py; echo y >src/more.py"))
    report = await situation.report(
        await agent.commit(), "sh", "-c", "cat lib/*", set_up=installing(script)
    )
    assert await situation.output(report) == b"one\ny\n"
    assert len(sandbox.set_ups) == 3


@pytest.mark.sampled(2)
async def test_a_program_cannot_hide_that_it_was_read(
    situation: Situation, sandbox: CountingSandbox
):
    """Else what a change made of its own tree would be served to others."""
    honest = "mkdir -p lib; echo fine >lib/installed"
    hiding = (
        f"touch -r src/app.py keep; {honest}; echo bad >lib/installed; touch -r keep src/app.py"
    )
    make_it = installing('. "$PWD/src/app.py"')
    (agent,) = await situation.begin(
        lambda home: home.make({**FILES, "src/app.py": honest}), "a", set_up=make_it
    )
    await agent.turn(("write", {"path": "src/app.py", "content": hiding}))
    await situation.report(await agent.commit(), "true", set_up=make_it)
    assert len(sandbox.set_ups) == 2
    report = await situation.report(situation.home.base, "cat", "lib/installed", set_up=make_it)
    assert await situation.output(report) == b"fine\n"
    assert len(sandbox.set_ups) == 2


async def test_set_up_runs_on_the_commit_and_not_on_what_lies_in_the_worktree(
    situation: Situation, tmp_path: Path
):
    await situation.begin(make)
    name = "s1.dev.a.1"
    place = await situation.home.host.create_worktree(name, situation.home.base)
    (place.path / "deps.txt").write_text("changed since\n")
    agent = Agent(situation.host, situation.home.base, "a", ("**",))
    await agent.prepare(set_up=installing())
    assert "one\n" in (await agent.turn(bash("cat lib/installed")))[0]


async def test_what_set_up_leaves_beside_ignored_paths_is_dropped(situation: Situation):
    (agent,) = await begun(situation, "a", script=f"{INSTALL}; echo x >stray; echo x >src/app.py")
    assert "one\n" in (await agent.turn(bash("cat src/app.py; ls stray")))[0]
    assert await situation.home.collect("s1.dev.a.1")


async def test_files_of_set_up_that_git_does_not_ignore_are_reported(situation: Situation):
    await situation.begin(make)
    order = installing(f"{INSTALL}; mkdir -p packages/deep empty; touch packages/deep/a stray")
    report = await situation.report(situation.home.base, "true", set_up=order)
    (notice,) = report.notices
    said = "set-up made 'packages/', 'stray', which git does not ignore, so it was dropped; "
    assert notice == f"{said}if gates need it, add it to .gitignore"


@pytest.mark.sampled(2)
async def test_a_folder_that_ignores_itself_hides_what_an_agent_writes_there(
    situation: Situation,
):
    script = "mkdir .venv && echo '*' >.venv/.gitignore && echo x >.venv/made"
    (agent,) = await begun(situation, "a", script=script)
    await agent.turn(bash("echo changed >.venv/made; echo new >.venv/new; echo two >src/app.py"))
    assert "changed\nnew\n" in (await agent.turn(bash("cat .venv/made .venv/new")))[0]
    assert set(situation.home.tree(await agent.commit())) == set(FILES)


async def test_a_set_up_that_fails_leaves_nothing_that_counts(
    situation: Situation, sandbox: CountingSandbox, tmp_path: Path
):
    broken = installing(f"{INSTALL}; exit 3")
    with pytest.raises(ApplicationError, match="exited with 3"):
        await situation.begin(make, "a", set_up=broken)
    assert list((tmp_path / "host" / "snapshots").glob("*/*")) == []
    agent = Agent(situation.host, situation.home.base, "b", ("**",))
    await agent.prepare(set_up=installing())
    assert len(sandbox.set_ups) == 2


@pytest.mark.sampled(2)
async def test_a_set_up_that_is_killed_leaves_nothing_that_counts(
    situation: Situation, sandbox: CountingSandbox, tmp_path: Path
):
    await situation.begin(make)
    command = installing().commands[0]
    worker = subprocess.Popen(  # noqa: ASYNC220 -- it is killed here
        (
            *(sys.executable, "-P", "-m", "tests.unit.activities.setup_once.killed_worker"),
            *(str(tmp_path), situation.home.base, *command),
        ),
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    with worker:
        half = tmp_path / "host" / "worktrees"
        await until(lambda: list(half.glob("*/*.setup.*/lib/installed")), "half of a set-up")
        worker.kill()
    agent = Agent(situation.host, situation.home.base, "a", ("**",))
    await agent.prepare(set_up=installing())
    assert "one\nx\n" in (await agent.turn(bash("cat lib/installed lib/runs")))[0]
    assert len(sandbox.set_ups) == 1


@pytest.mark.sampled(2)
async def test_a_deleted_dependency_stays_deleted_for_its_agent_alone(situation: Situation):
    one, two = await begun(situation, "one", "two")
    await one.turn(bash("rm -r lib; echo two >src/app.py"))
    assert "No such file" in (await one.turn(bash("ls lib")))[0]
    assert "installed" in (await two.turn(bash("ls lib")))[0]
    assert set(situation.home.tree(await one.commit())) == set(FILES)


async def test_a_copied_file_is_there_for_set_up_and_after_it(situation: Situation):
    content = await situation.store(b"theirs\n")
    copied = (CopiedFile(path="lib/local", content=content, executable=False),)
    script = "cat lib/local >lib/seen"
    (agent,) = await situation.begin(make, "a", set_up=installing(script), copied=copied)
    assert "theirs\ntheirs\n" in (await agent.turn(bash("cat lib/local lib/seen")))[0]
