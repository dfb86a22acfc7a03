"""Runs Python on a kernel that delegates cgroups, as any user: in a user-mode Linux.

Its root file system is that of this process, read-only. It has no network, and ends with what it
runs. The program is in Debian's package `user-mode-linux` (GPL-2.0).
"""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from workers.settings import DROPPED_ID

PROGRAM = "linux.uml"
_PLACE = "BLUEFLAME_TEST_CGROUP"
_ROOT = Path(__file__).resolve().parent.parent
_LONGEST_S = 300
_INIT = """\
#!/bin/bash
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs tmp /run
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mkdir -p /dev/shm && mount -t tmpfs -o mode=1777 tmp /dev/shm
mount -t tmpfs -o mode=1777 tmp /tmp
echo +memory +pids >/sys/fs/cgroup/cgroup.subtree_control
mkdir /sys/fs/cgroup/delegated
cd {root} && env -i {env} {python} -P -c {enter} {arguments} </dev/null 2>&1
echo "ended with $?."
/sbin/poweroff -f
"""
_ENTER = f"""\
import os, sys
sys.path.insert(0, os.getcwd())
from pathlib import Path
from workers.hosting.cgroup_delegation import claim
uid = int(os.environ["TESTS_UID"])
claim(Path(os.environ["{_PLACE}"]), uid, uid)
ids = (f"--reuid={{uid}}", f"--regid={{uid}}", "--clear-groups", "--no-new-privs")
os.execv("/usr/bin/setpriv", ("setpriv", *ids, sys.executable, "-P", *sys.argv[1:]))
"""


def delegated() -> Path | None:
    """Return the delegated cgroup; None where we do not run in `run_python`."""
    named = os.environ.get(_PLACE)
    return Path(named) if named else None


def run_python(folder: Path, *arguments: str) -> tuple[int, str]:
    """Run Python there as an ordinary user, with a delegated cgroup, to its end.

    Args:
        folder: an empty one, for the machine's own files.
        arguments: of Python; its working directory is the project's root.

    Returns:
        The exit code, and all that came on the machine's console.
    """
    inside = {
        _PLACE: "/sys/fs/cgroup/delegated",
        "TESTS_UID": str(os.getuid() or DROPPED_ID),
        "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
        "HOME": "/tmp",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": str(_ROOT),
    }
    init = folder / "init"
    init.write_text(
        _INIT.format(
            root=shlex.quote(str(_ROOT)),
            env=shlex.join(f"{name}={value}" for name, value in inside.items()),
            python=shlex.quote(sys.executable),
            enter=shlex.quote(_ENTER),
            arguments=shlex.join(arguments),
        )
    )
    init.chmod(0o755)
    program = shutil.which(PROGRAM)
    assert program is not None, f"{PROGRAM!r} is not installed"
    disk = ("root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", f"init={init}")
    console = ("mem=1536M", "con=null", "con0=null,fd:1", "quiet", f"uml_dir={folder}/uml/")
    with subprocess.Popen(
        (program, *disk, *console),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env={"HOME": str(folder), "TMPDIR": "/dev/shm"},
        start_new_session=True,
    ) as machine:
        try:
            shown, _ = machine.communicate(timeout=_LONGEST_S)
        except subprocess.TimeoutExpired:
            os.killpg(machine.pid, signal.SIGKILL)
            shown, _ = machine.communicate()
    ended = re.search(r"^ended with (\d+)\.", shown, re.MULTILINE)
    return int(ended[1]) if ended else -1, shown
