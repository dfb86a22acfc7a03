"""The attacks again, as an ordinary user who never was root.

The other run is what a host worker makes of itself that was started as root: no capability, no way
to one (`no_new_privs`), no group. An ordinary user has all three and must be as safe.
"""

import os
import pwd
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.dropped import ROOT, dropped_plan
from workers.hosting.privileges import PrivilegePlan

_NAME = "blueflame-attacks"
_RUN = (
    *("-q", "-n2", "-p", "no:cacheprovider", "-k", "not works_without_the_layer"),
    "tests/security/test_attacks.py",
    *("tests/security/test_network.py", "tests/security/test_output.py"),
    *("tests/security/test_listed_hosts.py", "tests/security/test_setup_network.py"),
)
_ENTER = """
import os, sys
from workers.hosting import privileges
plan = privileges.PrivilegePlan.model_validate_json(sys.argv[1])
privileges._hide_and_bind(plan)
os.chdir(plan.cwd)
os.execvpe("setpriv", ("setpriv", f"--reuid={plan.uid}", f"--regid={plan.gid}", "--init-groups",
    "--", *plan.argv), {**os.environ, "HOME": str(plan.writable[0]), **dict(plan.env)})
"""
"""Keeps closed toolchains in reach as a worker does, and gives up nothing but the user id."""


@pytest.fixture
def user() -> Iterator[pwd.struct_passwd]:
    """A user of the system, removed afterwards."""
    subprocess.run(("useradd", "--no-create-home", _NAME), check=True, capture_output=True)
    try:
        yield pwd.getpwnam(_NAME)
    finally:
        subprocess.run(("userdel", _NAME), check=True, capture_output=True)


def plan_for(user: pwd.struct_passwd) -> PrivilegePlan:
    plan = dropped_plan((sys.executable, "-m", "pytest", *_RUN))
    for path in plan.writable:
        os.chown(path, user.pw_uid, user.pw_gid)
    env = (*plan.env, ("TMPDIR", str(plan.writable[0])))
    return plan.model_copy(update={"uid": user.pw_uid, "gid": user.pw_gid, "env": env})


@pytest.mark.root
def test_every_attack_fails_for_an_ordinary_user_too(user: pwd.struct_passwd):
    plan = plan_for(user).model_copy(update={"cwd": ROOT})
    done = subprocess.run(
        (sys.executable, "-P", "-c", _ENTER, plan.model_dump_json()),
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=550,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert "skipped" not in done.stdout or os.uname().machine != "x86_64"
