"""Attacks from inside the sandbox. Each proves on the host that the effect did not happen."""

import asyncio
import ctypes
import os
import re
import socket
import subprocess
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import pytest

from activities.adapters.sandbox.blueflame_programs import worker_prefixes
from activities.adapters.sandbox.bubblewrap import BubblewrapSandbox
from activities.ports.sandbox_port import (
    Limits,
    SandboxCommand,
    SandboxResult,
    SandboxUnavailableError,
    Workspace,
)
from tests.contract.test_sandbox import processes_in
from tests.waiting import PATIENCE, shell_until, until

Attack = Callable[..., Awaitable[SandboxResult]]


def git(*args: str, cwd: Path) -> str:
    env = {
        "PATH": os.environ["PATH"],
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@example.invalid",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@example.invalid",
    }
    done = subprocess.run(
        ("git", *args), cwd=cwd, env=env, check=True, capture_output=True, text=True
    )
    return done.stdout


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A folder without git."""
    path = tmp_path / "t1"
    path.mkdir()
    (path / "a.txt").write_text("one\n")
    return Workspace(path=path)


@pytest.fixture
def worktree(tmp_path: Path) -> Workspace:
    """A worktree of a bare repository, arranged as the git adapter arranges it."""
    source = tmp_path / "users-own-path"
    source.mkdir()
    git("init", "-q", "-b", "main", cwd=source)
    (source / "a.txt").write_text("one\n")
    git("add", ".", cwd=source)
    git("commit", "-q", "-m", "base", cwd=source)
    bare = tmp_path / "bare.git"
    git("init", "-q", "--bare", str(bare), cwd=tmp_path)
    git("fetch", "-q", f"file://{source}", "main:refs/heads/secret-branch", cwd=bare)
    git("worktree", "add", "-q", "--detach", str(tmp_path / "t1"), "secret-branch", cwd=bare)
    git(
        "worktree", "add", "-q", "--detach", str(tmp_path / "other-task"), "secret-branch", cwd=bare
    )
    return Workspace(path=tmp_path / "t1", git_dir=bare, git_name="t1")


@pytest.fixture
def attack(workspace: Workspace) -> Attack:
    return attacking(workspace)


@pytest.fixture
def attack_git(worktree: Workspace) -> Attack:
    return attacking(worktree)


def attacking(workspace: Workspace) -> Attack:
    sandbox = BubblewrapSandbox()

    async def run(text: str, *, writable: bool = True, **limits: object) -> SandboxResult:
        command = SandboxCommand(
            argv=("bash", "-c", text),
            workspace=workspace.model_copy(update={"writable": writable}),
            limits=Limits.model_validate({"timeout": timedelta(seconds=PATIENCE), **limits}),
        )
        return await sandbox.run(command)

    return run


def core_pattern() -> bytes:
    return Path("/proc/sys/kernel/core_pattern").read_bytes()


def snapshot(top: Path) -> dict[str, bytes]:
    return {str(one): one.read_bytes() for one in sorted(top.rglob("*")) if one.is_file()}


# ------------------------------------------------------------------ reading what is not its own


async def test_the_root_is_an_allow_list(attack: Attack):
    seen = (await attack("ls -A / /home /etc")).output.decode()
    toolchain = {path.parts[1] for path in worker_prefixes()}
    assert set(seen.split("\n\n")[0].split()) <= toolchain | {
        *("/:", "bin", "dev", "etc", "git", "home", "lib", "lib32", "lib64", "libx32", "proc"),
        *("run", "sbin", "tmp", "usr", "var", "workspace"),
    }
    assert "agent" in seen
    for secret in ("shadow", "hostname", "ssh", "resolv.conf", "machine-id", "sudoers"):
        assert not re.search(rf"^{secret}$", seen, re.MULTILINE)


async def test_the_home_and_other_files_of_the_host_are_not_there(attack: Attack, tmp_path: Path):
    """Field report R59."""
    secret = tmp_path / "secret"
    secret.write_text("canary-1")
    script = f"cat {secret} /proc/1/root{secret} /proc/self/cwd/../secret ~/../../{secret}; ls -A ~"
    result = await attack(script)
    assert b"canary-1" not in result.output


async def test_the_toolchain_shows_nothing_beside_it(attack: Attack):
    result = await attack("ls -A ~root 2>/dev/null; ls -d ~root/.*")
    assert b".ssh" not in result.output
    assert b".cargo" not in result.output


async def test_no_process_shows_the_launchers_environment(
    attack: Attack, monkeypatch: pytest.MonkeyPatch
):
    """Field report R59."""
    monkeypatch.setenv("X_API_KEY", "canary-1")
    result = await attack("cat /proc/*/environ /proc/*/task/*/environ | tr '\\0' '\\n'; env")
    assert b"canary-1" not in result.output
    assert (await attack("ls -A /proc/1")).output == b""


async def test_process_one_shows_no_path_of_the_host(attack: Attack, workspace: Workspace):
    result = await attack("cat /proc/1/cmdline /proc/2/cmdline | tr '\\0' '\\n'; ls -l /proc/*/fd")
    assert str(workspace.path).encode() not in result.output


async def test_the_host_name_is_not_shown(attack: Attack):
    result = await attack("hostname; uname -n; cat /proc/sys/kernel/hostname /etc/hostname")
    assert socket.gethostname().encode() not in result.output.split()
    assert result.output.startswith(b"sandbox\nsandbox\nsandbox\n")


async def test_only_its_own_processes_are_seen(attack: Attack):
    result = await attack(f"ls -d /proc/[0-9]* | wc -l; ls -d /proc/{os.getpid()}/task/*/children")
    assert int(result.output.split()[0]) < 10


# ----------------------------------------------------------------------------------- network


def has_keyring() -> bool:
    """Have the kernel make the user's own keyring, and say whether it is shown."""
    # The system call is keyctl, asked for the keyring of the user; it is made where there is none.
    ctypes.CDLL(None).syscall(250, 0, -4, 1)
    return b"_uid" in Path("/proc/keys").read_bytes()


async def test_the_users_keyrings_are_not_named(attack: Attack):
    if os.uname().machine != "x86_64":
        pytest.skip("the number of a system call of x86-64")
    if not has_keyring():
        pytest.skip("this kernel shows the user no keyring, so there is nothing to hide")
    ran = await attack("cat /proc/keys /proc/key-users")
    assert b"keyring" not in ran.output
    assert b"/proc/keys: Permission denied" in ran.output


async def test_no_network_not_even_the_hosts_loopback(attack: Attack):
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        port = server.getsockname()[1]
        result = await attack(
            f"echo x >/dev/tcp/127.0.0.1/{port}; ls /sys/class/net; cat /proc/net/dev"
        )
        with pytest.raises(BlockingIOError):
            server.accept()
    assert b"Connection refused" in result.output
    assert b"eth" not in result.output


async def test_no_abstract_socket_of_the_host_is_reached(attack: Attack):
    name = f"blueflame-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"\0{name}")
        server.listen()
        server.setblocking(False)
        code = f"import socket; socket.socket(socket.AF_UNIX).connect(chr(0) + {name!r})"
        result = await attack(f'python3 -c "{code}"')
        with pytest.raises(BlockingIOError):
            server.accept()
    assert b"ConnectionRefusedError" in result.output


@pytest.mark.parametrize("family", [16, 17, 40, 38, 21, 31, 29, 44])
async def test_no_socket_of_another_family(attack: Attack, family: int):
    code = f"import socket; print(socket.socket({family}, socket.SOCK_RAW))"
    result = await attack(f'python3 -c "{code}"')
    assert b"Address family not supported" in result.output


# -------------------------------------------------------------------------------- the kernel


async def test_core_pattern_and_every_other_setting_stay(attack: Attack):
    before = core_pattern()
    result = await attack(
        "echo '|/bin/false' >/proc/sys/kernel/core_pattern;find /proc/sys -type f -writable"
    )
    assert core_pattern() == before
    assert b"Read-only file system" in result.output
    assert b"\n/proc/sys" not in result.output


async def test_no_capability_and_no_way_to_one(attack: Attack):
    result = await attack("grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status")
    words = result.output.decode().split()
    assert words == [
        *(
            part
            for name in ("Inh", "Prm", "Eff", "Bnd", "Amb")
            for part in (f"Cap{name}:", "0" * 16)
        ),
        *("NoNewPrivs:", "1", "Seccomp:", "2"),
    ]


@pytest.mark.parametrize(
    "command",
    [
        *("unshare -U true", "unshare -Ur true", "unshare -n true", "unshare -m true"),
        *(
            "mount -t tmpfs none /tmp",
            "mount --bind /usr /tmp",
            "umount /proc/sys",
            "umount -l /usr",
        ),
        *(
            "chroot / true",
            "nsenter -t 1 -m true",
            "hostname evil",
            "dmesg",
            "mknod /tmp/d b 254 0",
        ),
        *("bwrap --ro-bind / / true", "setpriv --reuid 0 true", "su -c true", "chown 0 /tmp/."),
    ],
)
async def test_a_command_for_root_fails(attack: Attack, command: str):
    result = await attack(command)
    assert (result.end, result.code != 0) == ("exited", True), result.output


@pytest.mark.parametrize(
    ("call", "number", "arguments"),
    [
        ("ptrace", 101, (16, 1, 0, 0)),
        ("process_vm_readv", 310, (1, 0, 0, 0, 0, 0)),
        ("keyctl", 250, (0, -3, 1)),
        ("add_key", 248, (0, 0, 0, 0, 0)),
        ("bpf", 321, (0, 0, 0)),
        ("perf_event_open", 298, (0, 0, -1, -1, 0)),
        ("userfaultfd", 323, (1,)),
        ("open_by_handle_at", 304, (0, 0, 0)),
        ("setns", 308, (0, 0)),
        ("clone with a new user namespace", 56, (0x10000000 | 17, 0, 0, 0, 0)),
        ("pidfd_getfd", 438, (0, 0, 0)),
        ("fsopen", 430, (0, 0)),
        ("move_mount", 429, (0, 0, 0, 0, 0)),
        ("TIOCSTI", 16, (0, 0x5412, 0)),
        ("TIOCSTI with high bits", 16, (0, 0x5412 | 1 << 40, 0)),
        ("a large shared segment", 29, (0, 1 << 30, 0o1600)),
    ],
)
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="numbers of x86-64")
async def test_a_forbidden_system_call_is_refused(
    attack: Attack, call: str, number: int, arguments: tuple[int, ...]
):
    assert await errno_of(attack, number, arguments) == "EPERM", call


@pytest.mark.parametrize(("call", "number"), [("clone3", 435), ("io_uring_setup", 425)])
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="numbers of x86-64")
async def test_a_call_that_cannot_be_judged_is_absent(attack: Attack, call: str, number: int):
    assert await errno_of(attack, number, (0, 0)) == "ENOSYS", call


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="numbers of x86-64")
async def test_the_other_numbering_of_system_calls_kills(attack: Attack):
    x32 = 0x40000000
    result = await attack(f"exec python3 -c 'import ctypes; ctypes.CDLL(None).syscall({x32 + 39})'")
    assert (result.end, result.code) == ("signalled", 31)


async def errno_of(attack: Attack, number: int, arguments: tuple[int, ...]) -> str:
    longs = ", ".join(f"ctypes.c_long({one})" for one in (number, *arguments))
    code = (
        "import ctypes, errno; libc = ctypes.CDLL(None, use_errno=True); "
        f"libc.syscall.restype = ctypes.c_long; result = libc.syscall({longs}); "
        "print(errno.errorcode.get(ctypes.get_errno()) if result == -1 else result)"
    )
    return (await attack(f'python3 -c "{code}" </dev/null')).output.decode().strip()


# ------------------------------------------------------------------------------- git and files


async def test_git_shows_the_work_and_takes_no_commit(attack_git: Attack, worktree: Workspace):
    assert worktree.git_dir is not None
    before = snapshot(worktree.git_dir)
    shown = await attack_git(
        "echo two >>a.txt; git status --short; git diff --stat; git log --format=%s;"
        "git show HEAD:a.txt"
    )
    assert shown.output.decode().splitlines()[0] == " M a.txt"
    assert shown.output.endswith(b"base\none\n")
    tried = await attack_git(
        "git stash; git gc; git config user.name x; git tag x; git update-ref refs/heads/x HEAD"
    )
    assert (tried.code, tried.output.count(b"Read-only file system")) == (128, 2)
    await attack_git("git -c user.name=x -c user.email=x commit -qam x; git add .")
    assert snapshot(worktree.git_dir) == before


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("git mv a.txt b.txt", "R  a.txt -> b.txt\n"),
        ("git rm -q a.txt", "D  a.txt\n"),
        ("echo x >a.txt; git restore a.txt", ""),
        ("echo x >a.txt; git checkout -q -- a.txt", ""),
        ("echo x >a.txt; git add a.txt", "M  a.txt\n"),
        ("echo x >a.txt; git add a.txt; git reset -q", " M a.txt\n"),
        ("echo x >a.txt; git diff >/tmp/p; git restore .; git apply --index /tmp/p", "M  a.txt\n"),
    ],
)
async def test_git_works_on_an_index_of_its_own(
    attack_git: Attack, worktree: Workspace, command: str, shown: str
):
    """Field report G03."""
    assert worktree.git_dir is not None
    before = snapshot(worktree.git_dir)
    result = await attack_git(f"{command} && git status --short")
    assert (result.output.decode(), result.code) == (shown, 0)
    assert snapshot(worktree.git_dir) == before
    again = await attack_git("git diff --cached --name-only")
    assert again.output == b""


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "command",
    [
        *("echo x >.git", "rm -f .git", "mv .git g", "ln -sf /tmp .git", "chmod 777 .git"),
        *("echo x >/git/HEAD", "touch /git/hooks", "rm -rf /git/objects", "echo x >>/git/config"),
        *("echo x >/git/base-objects/x", "ln a.txt /git/x", "mkdir /git/refs/x"),
    ],
)
async def test_gits_own_files_stay(attack_git: Attack, worktree: Workspace, command: str):
    """Field report R59."""
    assert worktree.git_dir is not None
    before = snapshot(worktree.git_dir), (worktree.path / ".git").read_bytes()
    result = await attack_git(command)
    assert result.code != 0
    assert (snapshot(worktree.git_dir), (worktree.path / ".git").read_bytes()) == before
    assert not (worktree.path / ".git").is_symlink()


async def test_the_repository_names_nothing_of_the_user_or_of_others(attack_git: Attack):
    result = await attack_git(
        "grep -rl users-own-path /git .git; git for-each-ref; ls -R /git | grep -v ^/"
    )
    assert b"users-own-path" not in result.output
    assert b"secret-branch" not in result.output
    assert b"other-task" not in result.output
    assert b"FETCH_HEAD" not in result.output


async def test_a_planted_git_link_stops_the_start(
    attack_git: Attack, worktree: Workspace, tmp_path: Path
):
    victim = tmp_path / "victim"
    victim.write_text("whole")
    (worktree.path / ".git").unlink()
    (worktree.path / ".git").symlink_to(victim)
    with pytest.raises(SandboxUnavailableError, match="not the file that git wrote"):
        await attack_git("echo x >.git")
    assert victim.read_text() == "whole"


@pytest.mark.parametrize(
    "content", ["gitdir: /etc\n", "", "gitdir: ../bare.git/worktrees/other-task\n"]
)
async def test_a_forged_git_file_stops_the_start(
    attack_git: Attack, worktree: Workspace, content: str
):
    (worktree.path / ".git").write_text(content)
    with pytest.raises(SandboxUnavailableError, match="not the file that git wrote"):
        await attack_git("true")


async def test_links_lead_nowhere_on_the_host(attack: Attack, workspace: Workspace, tmp_path: Path):
    (tmp_path / "secret").write_text("canary-1")
    result = await attack(
        f"ln -s {tmp_path}/secret s; ln -s ../secret t; cat s t; echo y >s; echo y >t"
    )
    assert b"canary-1" not in result.output
    assert (tmp_path / "secret").read_text() == "canary-1"


async def test_a_read_only_workspace_stays(attack: Attack, workspace: Workspace):
    before = snapshot(workspace.path)
    result = await attack(
        "echo x >a.txt; touch b; rm a.txt; chmod 777 a.txt; mkdir d", writable=False
    )
    assert snapshot(workspace.path) == before
    assert result.output.count(b"Read-only file system") == 5


async def test_nothing_outside_workspace_and_scratch_is_writable(attack: Attack):
    script = (
        "for d in / /usr /usr/bin /etc /dev /run /var /git /home /proc /proc/sys /opt; do "
        "touch $d/x 2>/dev/null && echo wrote $d; done; true"
    )
    assert (await attack(script)).output == b""


async def test_a_setuid_bit_is_worth_nothing(attack: Attack):
    result = await attack("cp /usr/bin/id i; chmod 6755 i; ./i -u; ./i -g")
    assert result.output == b"1000\n1000\n"


# ---------------------------------------------------------------------------------- exhaustion


async def test_a_fork_bomb_is_bounded_and_gone(attack: Attack):
    result = await attack(
        ":(){ :|:& };: ; sleep 0.5; ls -d /proc/[0-9]* | wc -l",
        processes=60,
        timeout=timedelta(seconds=2),
    )
    assert result.end in ("exited", "timed_out")
    assert all(int(number) <= 60 for number in re.findall(rb"^(\d+)$", result.output, re.MULTILINE))


async def test_processes_are_counted_for_each_sandbox(attack: Attack, workspace: Workspace):
    held = (
        f"mkfifo never; for i in $(seq 50); do read x <never & done; touch up; {shell_until('go')}"
    )
    many = asyncio.ensure_future(attack(f"{held}; kill %{{1..50}}; wait; echo ok", processes=60))
    await until((workspace.path / "up").exists, "fifty processes run", seen=many.done)
    others = await asyncio.gather(*(attack("echo fine", processes=10) for _ in range(3)))
    (workspace.path / "go").touch()
    assert (await many).output == b"ok\n"
    assert [one.output for one in others] == [b"fine\n"] * 3


async def test_an_output_flood_is_bounded(attack: Attack):
    result = await attack("yes | head -c 100M", output_bytes=10_000)
    assert (result.end, result.code) == ("exited", 0)
    assert (len(result.output), result.output_bytes) == (10_000, 100 << 20)


@pytest.mark.parametrize("where", ["/tmp", "/dev/shm", "/home/agent"])
async def test_an_in_memory_file_system_has_a_size(attack: Attack, where: str):
    result = await attack(
        f"head -c 100M /dev/zero >{where}/x; du -m {where}/x", memory_bytes=80 << 20
    )
    assert b"No space left" in result.output or result.end == "out_of_memory"


async def test_files_in_memory_count_as_memory(attack: Attack):
    script = (
        "import os, time\nfor n in range(100):\n f = os.memfd_create('x')\n"
        " os.write(f, bytes(10**7))\n print(n, flush=True)\ntime.sleep(60)"
    )
    result = await attack(f'python3 -c "{script}"', memory_bytes=300 << 20)
    assert result.end == "out_of_memory"


async def test_deleted_files_count_as_disk(attack: Attack):
    script = "for i in 1 2 3 4 5 6; do exec {f}>x; rm x; head -c 20M /dev/zero >&$f; done; sleep 60"
    result = await attack(script, disk_bytes=50 << 20)
    assert result.end == "out_of_disk"


async def test_empty_files_without_number_are_bounded(attack: Attack):
    script = "import os, time; [os.mknod(f'/tmp/{n}') for n in range(201_000)]; time.sleep(60)"
    result = await attack(f'python3 -c "{script}"', timeout=timedelta(seconds=60))
    assert result.end == "out_of_memory"


async def test_a_daemon_in_a_session_of_its_own_dies(attack: Attack, workspace: Workspace):
    beats = "while :; do date +%s%N >beat; sleep 0.01; done"
    script = f"setsid bash -c '{beats}' & {shell_until('beat', '-s')}"
    result = await attack(script)
    assert result.survivors >= 1
    beat = (workspace.path / "beat").read_bytes()
    assert (workspace.path / "beat").read_bytes() == beat
    assert not processes_in(workspace.path)


async def test_killing_everything_inside_is_an_end_like_another(attack: Attack):
    result = await attack("kill -9 -1; sleep 60")
    assert result.end == "signalled"


async def test_nothing_waits_for_a_person(attack: Attack):
    """Field report R32."""
    commands = (
        *("cat", "python3", "read x </dev/tty", "git commit --amend", "git rebase -i HEAD", "vi a"),
        *("git log", "less a.txt", "ssh nowhere.invalid", "nano a", "git commit", "vim -u NONE a"),
    )
    results = [await attack(f"{one} 2>&1", timeout=timedelta(seconds=60)) for one in commands]
    assert [one.end for one in results] == ["exited"] * len(commands)


async def test_no_terminal_is_controlled(attack: Attack):
    """Field report R32."""
    result = await attack("exec 3<>/dev/tty; ps -o tty= -p $$; tty")
    assert b"No such device or address" in result.output
    assert b"not a tty" in result.output
