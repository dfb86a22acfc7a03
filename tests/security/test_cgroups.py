"""The kernel's limits on a whole command, in a delegated cgroup; the real ones, nothing faked.

Most machines delegate none, so these tests run in a user-mode Linux, which the first one boots:
`make test-slow`, with Debian's package `user-mode-linux`.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from activities.adapters.sandbox.bubblewrap import BubblewrapSandbox
from activities.adapters.sandbox.processes.cgroups import sweep_cgroups
from activities.adapters.sandbox.unconfined import UnconfinedSandbox
from activities.ports.sandbox_port import (
    Limits,
    Sandbox,
    SandboxCommand,
    SandboxResult,
    SandboxUnavailableError,
    Workspace,
)
from tests.user_mode_linux import PROGRAM, delegated, run_python
from tests.waiting import shell_until
from workers.hosting.cgroup_delegation import LEAF, DelegationError, claim, place_of

Bash = Callable[..., Awaitable[SandboxResult]]
LIMIT = 100 << 20

inside = pytest.mark.skipif(delegated() is None, reason="runs in the user-mode Linux")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which(PROGRAM) is None, reason="needs `user-mode-linux`")
@pytest.mark.skipif(delegated() is not None, reason="runs outside of the user-mode Linux")
def test_the_tests_of_cgroups_pass_on_a_kernel_that_delegates_them(tmp_path: Path):
    options = ("-q", "-n0", "-p", "no:cacheprovider", "--color=no")
    code, console = run_python(tmp_path, "-m", "pytest", *options, __file__)
    assert code == 0, console
    assert "passed" in console


@pytest.fixture
def place() -> Path:
    """The delegated cgroup."""
    found = delegated()
    assert found is not None
    return found


@pytest.fixture(params=[BubblewrapSandbox, UnconfinedSandbox], ids=["bubblewrap", "none"])
def sandbox(request: pytest.FixtureRequest, place: Path) -> Sandbox:
    return request.param(cgroup=place)


def bash_in(sandbox: Sandbox, workspace: Path) -> Bash:
    async def run(text: str, **limits: int) -> SandboxResult:
        command = SandboxCommand(
            argv=("bash", "-c", text),
            workspace=Workspace(path=workspace),
            limits=Limits.model_validate({"memory_bytes": LIMIT, **limits}),
        )
        return await sandbox.run(command)

    return run


def runs_in(place: Path) -> list[Path]:
    return list(place.glob("run-*"))


@pytest.fixture
def bash(sandbox: Sandbox, tmp_path: Path) -> Bash:
    return bash_in(sandbox, tmp_path)


SEGMENT = """python3 - <<'.'
import ctypes
libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p
for _ in range(3200):
    number = libc.shmget(0, 1 << 16, 0o1600)
    at = libc.shmat(number, None, 0)
    ctypes.memset(at, 1, 1 << 16)
    libc.shmdt(ctypes.c_void_p(at))
    {after}
print("survived")
.
"""
"""200 MB of shared memory in small segments, of which at most one is attached: samples see it."""
KEPT = SEGMENT.format(after="pass")
FREED = SEGMENT.format(after="libc.shmctl(number, 0, None)")


@inside
async def test_memory_is_bounded_by_the_kernel(bash: Bash, place: Path):
    hog = "python3 -c 'x = bytearray(300 << 20); print(len(x))'"
    done = await bash(hog)
    assert (done.end, done.code, done.output) == ("out_of_memory", 9, b"")
    assert runs_in(place) == []


@inside
async def test_it_counts_what_the_samples_miss(tmp_path: Path, place: Path):
    sampled = await bash_in(BubblewrapSandbox(), tmp_path)(KEPT)
    assert (sampled.end, sampled.output) == ("exited", b"survived\n")
    counted = await bash_in(BubblewrapSandbox(cgroup=place), tmp_path)(KEPT)
    assert (counted.end, counted.output) == ("out_of_memory", b"")
    fair = await bash_in(BubblewrapSandbox(cgroup=place), tmp_path)(FREED)
    assert (fair.end, fair.output) == ("exited", b"survived\n")


MANY = """exec python3 - <<'.'
import os, signal
for count in range(100):
    try:
        os.fork() or signal.pause()
    except BlockingIOError:
        break
print(count)
.
"""


@inside
async def test_the_number_of_processes_is_bounded_without_namespaces_too(bash: Bash, place: Path):
    done = await bash(MANY, processes=20)
    assert 10 < int(done.output) < 30
    assert runs_in(place) == []


@inside
async def test_an_honest_command_is_told_nothing_of_it(bash: Bash):
    done = await bash("cat a 2>/dev/null; ls /sys/fs/cgroup/*/memory.max 2>/dev/null; exit 3")
    assert (done.end, done.code) == ("exited", 3)


def is_running(pid: int) -> bool:
    """Tell whether a process is there and more than what no one has reaped yet."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in {"Z", "X"}


ESCAPE = f"""setsid env -i /bin/sh -c 'echo $$ >pid; exec sleep 600' >/dev/null 2>&1 &
{shell_until("pid", "-s")}"""


@inside
async def test_without_a_sandbox_it_finds_what_left_the_session(tmp_path: Path, place: Path):
    await bash_in(UnconfinedSandbox(), tmp_path)(ESCAPE)
    escaped = int((tmp_path / "pid").read_text())
    os.kill(escaped, 9)  # it is there: without a cgroup it got away
    (tmp_path / "pid").unlink()
    await bash_in(UnconfinedSandbox(cgroup=place), tmp_path)(ESCAPE)
    assert not is_running(int((tmp_path / "pid").read_text()))


@contextmanager
def inhabitant(place: Path) -> Generator[subprocess.Popen[bytes]]:
    """A process that is in a cgroup, and that is killed at the end if it still runs."""
    enter = 'echo 0 >"$0/cgroup.procs" && echo there && exec sleep 600'
    with subprocess.Popen(("sh", "-c", enter, place), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"there\n"
        try:
            yield process
        finally:
            process.kill()


@inside
def test_what_a_killed_worker_left_is_swept(place: Path):
    with subprocess.Popen(("true",)) as ended:
        ended.wait()
    left = place / f"run-{ended.pid}-0"
    mine = place / f"run-{os.getpid()}-999"
    for path in (left, mine):
        path.mkdir()
    with inhabitant(left) as survivor:
        sweep_cgroups(place)
        assert survivor.wait() == -signal.SIGKILL
    assert not left.exists()
    assert mine.exists()
    mine.rmdir()


@inside
async def test_a_cgroup_that_cannot_be_made_refuses_the_command(tmp_path: Path):
    with pytest.raises(SandboxUnavailableError, match="BLUEFLAME_CGROUP"):
        await bash_in(BubblewrapSandbox(cgroup=Path("/sys/fs/cgroup")), tmp_path)("touch there")
    assert not (tmp_path / "there").exists()


@pytest.fixture
def unit(place: Path) -> Generator[Path]:
    """A cgroup of its own, as a service manager makes one; what is below it goes with it."""
    path = place / "unit"
    path.mkdir()
    yield path
    for each in (path / LEAF, path):
        each.rmdir()


OWN = """
import os, sys
from pathlib import Path
(Path(sys.argv[1]) / "cgroup.procs").write_text("0")
from workers.hosting.cgroup_delegation import claim, place_of
for _ in range(2):
    claim(place_of("own"), os.getuid(), os.getgid())
print(Path("/proc/self/cgroup").read_text().strip(), place_of("own"))
"""


@inside
def test_own_is_the_cgroup_that_the_worker_was_started_in(unit: Path):
    done = subprocess.run(
        (sys.executable, "-c", OWN, unit), capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [f"0::/delegated/unit/{LEAF}", str(unit)]
    assert {"memory", "pids"} <= set((unit / "cgroup.subtree_control").read_text().split())


@inside
def test_own_with_processes_that_cannot_be_moved_is_refused(unit: Path):
    # Seen from the new namespace of processes, `unshare` itself has no number.
    start = 'echo 0 >"$0/cgroup.procs" && exec unshare --user --map-root-user --pid --fork "$@"'
    done = subprocess.run(
        ("sh", "-c", start, unit, sys.executable, "-c", OWN, unit),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "cannot be arranged" in done.stderr


@inside
def test_a_place_with_other_processes_is_refused(place: Path):
    busy = place / "busy"
    busy.mkdir()
    with inhabitant(busy) as stranger:
        with pytest.raises(DelegationError, match="cannot be arranged"):
            claim(busy, os.getuid(), os.getgid())
        assert stranger.poll() is None


def test_a_place_that_is_no_cgroup_is_refused(tmp_path: Path):
    with pytest.raises(DelegationError, match="not a cgroup of version 2"):
        place_of(str(tmp_path))
    (tmp_path / "cgroup.controllers").write_text("cpu\n")
    with pytest.raises(DelegationError, match="no controller memory and pids"):
        place_of(str(tmp_path))
    assert place_of(None) is None


@pytest.mark.parametrize("name", ["blueflame", LEAF])
def test_a_named_place_is_taken_whatever_it_is_called(tmp_path: Path, name: str):
    place = tmp_path / name
    place.mkdir()
    (place / "cgroup.controllers").write_text("cpu memory pids\n")
    assert place_of(str(place)) == place


def test_a_cgroup_of_another_user_is_refused(tmp_path: Path):
    (tmp_path / "cgroup.controllers").write_text("memory pids\n")
    tmp_path.chmod(0o555)
    with pytest.raises(DelegationError, match="not delegated to this user"):
        place_of(str(tmp_path))


def test_a_kernel_that_cannot_end_a_whole_cgroup_is_refused(tmp_path: Path):
    with pytest.raises(DelegationError, match=r"Linux 5\.14"):
        claim(tmp_path, os.getuid(), os.getgid())
