"""Runs one attack, in the sandbox or without it."""

import asyncio
import contextlib
import os
import signal
import subprocess
import tempfile
from datetime import timedelta

from activities.adapters.sandbox.blueflame_programs import worker_prefixes
from activities.adapters.sandbox.bubblewrap import BubblewrapSandbox
from activities.ports.merge_values import MergePart
from activities.ports.sandbox_port import WORKSPACE, Limits, SandboxCommand, Workspace
from tests.contract.test_sandbox import processes_in
from tests.security.arena import Arena, Ran
from tests.security.case import Case
from tests.unit.activities.adapters.git.home import WHEN, write
from tests.waiting import PATIENCE

PRIVATE = (
    *("unshare", "--user", "--map-root-user", "--mount", "--net", "--uts", "--ipc", "--cgroup"),
    *("--pid", "--fork", "--kill-child", "--mount-proc"),
)
"""Root of nothing: what a control does there ends with it, save on the arena's files."""

SAMPLED = {"LINGER": "20", "PAUSE": "0.1"}
"""Seconds that an attack on a limit that is sampled keeps what it has, and waits between parts: it
ends with the first sample, which may be late where others take the processor."""
UNSAMPLED = {"LINGER": "0", "PAUSE": "0"}

_NAIVE = (
    "git add -A; git commit -qm x; git status; git diff HEAD~1; git checkout -qb evil; git log -p;"
    "echo y >>a.txt; git commit -qam y; git checkout -q main; git merge evil; git fetch . main;"
    "git checkout -qb two main~1; echo z >>a.txt; git commit -qam z; git merge main; git ls-files"
)
"""What a host does that trusts the folder it is in."""


async def confined(
    arena: Arena,
    case: Case,
    workspace: Workspace | None = None,
    sandbox: BubblewrapSandbox | None = None,
) -> Ran:
    """Run an attack in the sandbox, and what the host does with its work afterwards.

    Args:
        arena: where.
        case: the attack.
        workspace: what it sees; None: the arena's worktree, with nothing beneath it.
        sandbox: None: one that offers nothing.
    """
    limits = Limits.model_validate({"timeout": timedelta(seconds=PATIENCE), **case.limits})
    command = SandboxCommand(
        argv=("bash", "-c", case.attack),
        workspace=workspace or arena.workspace,
        env=tuple((arena.environment(WORKSPACE, "/git") | SAMPLED).items()),
        limits=limits,
    )

    async def run() -> bytes:
        ran = await (sandbox or BubblewrapSandbox()).run(command, arena.lock.fileno())
        return ran.output

    ran = await arena.watched(run())
    tree = await _worked_on(arena) if case.way == "collected" else ()
    return Ran(ran.output, ran.held, tree, tuple(processes_in(arena.worktree)))


async def _worked_on(arena: Arena) -> tuple[str, ...]:
    """Let the host collect, compare, merge, check out and restore, as it does with any work."""
    home = arena.home()
    await home.collect()
    commit = await home.commit_work()
    write(arena.other, {"b.txt": "theirs\n", "d/c.txt": "theirs\n"})
    other = await home.commit_work("other-task")
    await home.host.diff(home.base, commit)
    await home.host.changed_files(home.base, commit)
    await home.host.merge(other, (MergePart(commit=commit, message="m"),), WHEN)
    await home.host.create_worktree("gate", commit)
    async with home.host.lock("t1"):
        await home.host.restore("t1", home.base)
    return await home.host.paths(commit)


async def unconfined(arena: Arena, case: Case) -> Ran:
    """Run the same attack without the layer; what it starts is ended here."""
    if case.way == "collected":
        script, cwd = f"{case.attack}\n{{ {_NAIVE}; }} 2>&1", arena.top / "naive"
    else:
        script, cwd = case.attack, arena.worktree
    prefix = () if case.way == "left" else PRIVATE
    ran = await arena.watched(_plain(arena, (*prefix, "bash", "-c", script), str(cwd)))
    alive = tuple(processes_in(arena.worktree))
    for pid in alive:
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)
    tree = tuple(ran.output.decode("utf-8", "replace").splitlines())
    return Ran(ran.output, ran.held, tree, alive)


async def _plain(arena: Arena, argv: tuple[str, ...], cwd: str) -> bytes:
    tools = [str(prefix / "bin") for prefix in worker_prefixes()]
    place = arena.environment(str(arena.worktree), str(arena.bare))
    env = {
        "PATH": ":".join([*tools, "/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"]),
        "HOME": str(arena.person),
        "GIT_CONFIG_NOSYSTEM": "1",
        "X_API_KEY": arena.secret.decode(),
        **place,
        **UNSAMPLED,
    }
    with tempfile.TemporaryFile() as output:
        # Into a file: a daemon may hold a pipe open for ever.
        process = subprocess.Popen(  # noqa: ASYNC220 -- it is awaited in a thread
            argv,
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            close_fds=False,
        )
        try:
            await asyncio.to_thread(process.wait, PATIENCE)
        finally:
            process.kill()
            process.wait()
        output.seek(0)
        return output.read()
