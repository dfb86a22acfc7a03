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
from tests.security.test_attacks import TABLES
from workers.hosting.privileges import PrivilegePlan

_NAME = "blueflame-attacks"
_ATTACKS = "tests/security/test_attacks.py"
_ALL = (
    *(_ATTACKS, "-k", "not works_without_the_layer"),
    *("tests/security/test_network.py", "tests/security/test_output.py"),
    *("tests/security/test_listed_hosts.py", "tests/security/test_setup_network.py"),
)
_FIRST = tuple(
    f"{_ATTACKS}::test_an_attack_reaches_nothing[{kind}: {cases[0].name}]"
    for kind, cases in TABLES.items()
)
"""One attack of each table."""
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


def plan_for(user: pwd.struct_passwd, tests: tuple[str, ...]) -> PrivilegePlan:
    plan = dropped_plan((sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests))
    home = plan.writable[0]
    os.chown(home, user.pw_uid, user.pw_gid)
    changes = {
        "uid": user.pw_uid,
        "gid": user.pw_gid,
        "cwd": ROOT,
        "writable": (home,),
        "env": (*plan.env, ("TMPDIR", str(home))),
    }
    return plan.model_copy(update=changes)


@pytest.mark.root
@pytest.mark.parametrize(
    "tests",
    [
        pytest.param(_FIRST, id="the first of each table"),
        pytest.param(("-n2", *_ALL), marks=[pytest.mark.slow, pytest.mark.timeout(600)], id="all"),
    ],
)
def test_attacks_fail_for_an_ordinary_user_too(user: pwd.struct_passwd, tests: tuple[str, ...]):
    plan = plan_for(user, tests)
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
