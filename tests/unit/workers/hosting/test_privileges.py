import json
import os
import pwd
import subprocess
import sys
from pathlib import Path

import pytest

from activities.adapters.sandbox.blueflame_programs import worker_prefixes
from tests.dropped import ROOT
from workers.hosting.privileges import (
    PrivilegeError,
    PrivilegePlan,
    closed_directories,
    enter,
    prepare_data_dir,
)
from workers.settings import DROPPED_ID

_ENTER = """
import sys
from workers.hosting.privileges import PrivilegePlan, enter
enter(PrivilegePlan.model_validate_json(sys.argv[1]))
"""


def entered(plan: PrivilegePlan, **env: str) -> subprocess.CompletedProcess[str]:
    """Drop in a process of its own, as a worker does, and run the plan's command."""
    argv = (sys.executable, "-P", "-c", _ENTER, plan.model_dump_json())
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **env}
    return subprocess.run(argv, env=env, capture_output=True, text=True, check=False)


def plan_for(*argv: str, home: Path, **changes: object) -> PrivilegePlan:
    """A plan with the data directory and the code under a closed home."""
    return PrivilegePlan.model_validate(
        {
            "argv": argv,
            "cwd": home / "data" / "host",
            "writable": prepare_data_dir(home / "data"),
            "readable": (home / "code", *worker_prefixes()),
            **changes,
        }
    )


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home of mode 0700 with code to keep and a secret to lose."""
    path = tmp_path / "home"
    (path / "code" / "deep").mkdir(parents=True)
    (path / "code" / "deep" / "module.py").write_text("x = 1\n")
    (path / "secret").write_text("canary-1")
    path.chmod(0o700)
    for parent in (tmp_path, *tmp_path.parents):
        if parent.stat().st_uid == os.getuid() and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | 0o011)
    return path


def test_an_ordinary_user_goes_on_as_it_is(tmp_path: Path):
    if os.geteuid() == 0:
        pytest.skip("about an ordinary user")
    plan = PrivilegePlan(argv=("/bin/false",), cwd=tmp_path, writable=(), readable=())
    assert enter(plan) is None


def test_the_data_directory_of_an_ordinary_user_is_only_made(tmp_path: Path):
    made = prepare_data_dir(tmp_path / "data", os.getuid(), os.getgid())
    assert made == (tmp_path / "data" / "host", tmp_path / "data" / "store")
    assert all(path.stat().st_uid == os.getuid() for path in made)


def test_the_outermost_closed_directory_is_found(tmp_path: Path):
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    (tmp_path / "open").mkdir()
    uid, gid = os.getuid() + 1, os.getgid() + 1
    (tmp_path / "a" / "b").chmod(0o700)
    (tmp_path / "a").chmod(0o700)
    paths = [tmp_path / "a" / "b" / "c", tmp_path / "a" / "b", tmp_path / "open"]
    above = closed_directories([tmp_path / "x"], uid, gid)
    assert closed_directories(paths, uid, gid) == (above or (tmp_path / "a",))
    assert closed_directories(paths, os.getuid(), os.getgid()) == ()


@pytest.mark.root
def test_nothing_of_root_is_left(home: Path):
    argv = ("/bin/cat", "/proc/self/status")
    done = entered(plan_for(*argv, home=home))
    status = dict(line.split(":\t", 1) for line in done.stdout.splitlines() if ":\t" in line)
    assert status["Uid"].split() == [str(DROPPED_ID)] * 4, done.stderr
    assert status["Gid"].split() == [str(DROPPED_ID)] * 4
    assert status["Groups"].split() == []
    assert status["NoNewPrivs"] == "1"
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(status[name], 16) == 0


@pytest.mark.root
def test_a_closed_home_shows_only_what_is_kept(home: Path):
    script = f"cd {home}; ls -A . data; cat code/deep/module.py secret; echo $HOME; pwd"
    done = entered(plan_for("/bin/sh", "-c", script, home=home))
    lines = done.stdout.splitlines()
    assert lines == [
        *(".:", "code", "data", "", "data:", "host", "store"),
        *("x = 1", str(home / "data" / "host"), str(home)),
    ]
    assert "secret: No such file" in done.stderr


@pytest.mark.root
@pytest.mark.parametrize(
    ("path", "writable"),
    [
        ("data/host/x", True),
        ("data/store/x", True),
        ("code/x", False),
        ("x", False),
        ("data/x", False),
    ],
)
def test_only_the_data_is_writable(home: Path, path: str, writable: bool):
    done = entered(plan_for("/usr/bin/touch", str(home / path), home=home))
    assert (done.returncode == 0) is writable, done.stderr
    assert (home / path).exists() is writable


@pytest.mark.root
def test_the_host_sees_its_own_home_unchanged(home: Path):
    entered(plan_for("/bin/true", home=home))
    assert (home / "secret").read_text() == "canary-1"
    assert str(home) not in Path("/proc/self/mounts").read_text()


@pytest.mark.root
def test_the_interpreter_still_works(home: Path):
    argv = (sys.executable, "-c", "import pydantic, os; print(os.getuid())")
    done = entered(plan_for(*argv, home=home))
    assert done.stdout == f"{DROPPED_ID}\n", done.stderr


@pytest.mark.root
def test_the_way_back_is_shut(home: Path):
    script = "unshare -m true; mount -t tmpfs none /mnt; setpriv --reuid 0 true; echo end"
    done = entered(plan_for("/bin/sh", "-c", script, home=home))
    assert done.stdout == "end\n"
    assert len(done.stderr.splitlines()) >= 3


@pytest.mark.root
def test_a_tree_is_given_without_following_links(tmp_path: Path):
    host = tmp_path / "data" / "host"
    host.mkdir(parents=True)
    outside = tmp_path / "outside"
    outside.touch()
    (host / "link").symlink_to(outside)
    (host / "file").touch()
    prepare_data_dir(tmp_path / "data")
    assert outside.stat().st_uid == 0
    assert (host / "file").stat().st_uid == DROPPED_ID
    assert (host / "link").lstat().st_uid == DROPPED_ID


@pytest.mark.root
def test_data_of_another_owner_is_refused_by_name(home: Path):
    plan = plan_for("/bin/true", home=home)
    os.chown(home / "data" / "store", 0, 0)
    done = entered(plan)
    assert done.returncode != 0
    assert f"chown -R {DROPPED_ID}:{DROPPED_ID} {home}/data/store" in done.stderr


@pytest.mark.root
def test_code_that_only_root_may_read_is_refused_by_name(home: Path):
    (home / "code").chmod(0o700)
    done = entered(plan_for("/bin/true", home=home))
    assert f"chmod -R go+rX {home}/code" in done.stderr


@pytest.mark.root
def test_a_container_without_the_capability_is_told_so(home: Path):
    argv = (sys.executable, "-P", "-c", _ENTER, plan_for("/bin/true", home=home).model_dump_json())
    weak = ("setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin", *argv)
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    done = subprocess.run(weak, env=env, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "lacks CAP_SYS_ADMIN" in done.stderr


@pytest.mark.root
def test_a_sandbox_works_for_a_dropped_worker_and_a_real_user(home: Path):
    name = f"bf{os.getpid()}"
    subprocess.run(("useradd", "--create-home", "--base-dir", str(home.parent), name), check=True)
    try:
        user = pwd.getpwnam(name)
        for uid, gid in ((DROPPED_ID, DROPPED_ID), (user.pw_uid, user.pw_gid)):
            data = prepare_data_dir(home / f"data-{uid}", uid, gid)
            argv = (sys.executable, "-P", "-c", _PROBE, str(data[0]))
            plan = PrivilegePlan(
                argv=argv,
                cwd=data[0],
                writable=data,
                readable=(ROOT, *worker_prefixes()),
                uid=uid,
                gid=gid,
                env=(("PYTHONPATH", str(ROOT)),),
            )
            done = entered(plan)
            assert done.stdout, done.stderr
            assert json.loads(done.stdout) == [True, None, "made:1:found\n", uid]
    finally:
        subprocess.run(("userdel", "--remove", name), check=True, capture_output=True)


_PROBE = """
import asyncio, json, os, sys
from pathlib import Path
from activities.adapters.sandbox.bubblewrap import BubblewrapSandbox
from activities.ports.sandbox_port import SandboxCommand, Workspace

async def main():
    sandbox = BubblewrapSandbox()
    probe = await sandbox.probe()
    path = Path(sys.argv[1]) / "tree"
    path.mkdir()
    make = "import json; open('made', 'w').write('found')"
    argv = ("bash", "-c", 'python3 -c "$0" && rg -n found', make)
    result = await sandbox.run(SandboxCommand(argv=argv, workspace=Workspace(path=path)))
    owner = (path / "made").stat().st_uid
    print(json.dumps([probe.usable, probe.reason, result.output.decode(), owner]))

asyncio.run(main())
"""


@pytest.mark.root
def test_real_root_never_starts_a_sandbox(tmp_path: Path):
    script = _PROBE.replace("sys.argv[1]", repr(str(tmp_path)))
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        (sys.executable, "-c", script), env=env, capture_output=True, text=True, check=False
    )
    assert "SandboxUnavailableError: No sandbox is started as real root" in done.stderr
    assert not (tmp_path / "tree" / "made").exists()


def test_a_plan_needs_a_real_unprivileged_user(tmp_path: Path):
    with pytest.raises(ValueError, match="uid"):
        PrivilegePlan(argv=("/bin/true",), cwd=tmp_path, writable=(), readable=(), uid=0)


def test_the_error_is_one_that_a_caller_can_show():
    assert issubclass(PrivilegeError, Exception)
