"""A pytest plugin: started as root, the test run drops its privileges first, as a worker does.

Nearly everything that Blue Flame does on a host happens as an unprivileged user, and bubblewrap
must not be started by root. So `pytest` as root executes itself again through
`workers.hosting.privileges`, and all tests run unprivileged, in the same way as for an ordinary
user. Tests that need real root carry the marker `root`; they are skipped then, and `pytest
--as-root -m root` runs them.
"""

import os
import sys
import tempfile
from pathlib import Path

import pytest
from _pytest.capture import CaptureManager  # the only way to hand the terminal on

from activities.adapters.sandbox.blueflame_programs import worker_prefixes
from workers.hosting.privileges import PrivilegeError, PrivilegePlan, enter
from workers.settings import DROPPED_ID

ROOT = Path(__file__).resolve().parent.parent
_COMPILED = ROOT / ".pytest_cache" / "compiled"
"""Belongs to the dropped user, who may write nowhere else in the checkout. It outlives a run: to
compile everything takes each test process ten seconds."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("dropped")
    group.addoption("--as-root", action="store_true", help="stay root; use it with -m root")
    group.addoption(
        "--dropped-writable",
        action="append",
        default=[],
        metavar="DIR",
        help="a directory that the dropped run may write (coverage data, reports)",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "root: needs real root; run with `--as-root -m root`")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.geteuid() == 0:
        return
    skip = pytest.mark.skip(reason="needs real root: pytest --as-root -m root")
    for item in items:
        if item.get_closest_marker("root"):
            item.add_marker(skip)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    if os.geteuid() != 0 or config.option.as_root or "PYTEST_XDIST_WORKER" in os.environ:
        return
    capture = config.pluginmanager.getplugin("capturemanager")
    if isinstance(capture, CaptureManager):
        capture.stop_global_capturing()
    writable = [Path(name).resolve() for name in config.option.dropped_writable]
    command = (sys.executable, "-m", "pytest", *config.invocation_params.args)
    try:
        enter(dropped_plan((*command, "-p", "no:cacheprovider"), tuple(writable)))
    except PrivilegeError as error:
        raise pytest.UsageError(f"{error} (or stay root: pytest --as-root)") from error


def dropped_plan(argv: tuple[str, ...], writable: tuple[Path, ...] = ()) -> PrivilegePlan:
    """Plan to run `argv` as the dropped user, with this checkout and the interpreter in reach."""
    home = Path(tempfile.mkdtemp(prefix="blueflame-tests-"))
    for path in (home, *writable, _COMPILED):
        path.mkdir(parents=True, exist_ok=True)
        os.chown(path, DROPPED_ID, DROPPED_ID)
    env = {
        "HYPOTHESIS_STORAGE_DIRECTORY": os.environ.get(
            "HYPOTHESIS_STORAGE_DIRECTORY", str(home / "hypothesis")
        ),
        # Temporal's sandbox imports workflow code again for each workflow: compiling it each time
        # would be half of the time that those tests take.
        "PYTHONDONTWRITEBYTECODE": "",
        "PYTHONPYCACHEPREFIX": str(_COMPILED),
        "COVERAGE_FILE": os.environ.get("COVERAGE_FILE", str(home / "coverage")),
    }
    return PrivilegePlan(
        argv=argv,
        cwd=Path.cwd(),
        writable=(home, *writable, _COMPILED),
        readable=(ROOT, Path.cwd(), *worker_prefixes()),
        env=tuple(env.items()),
    )
