"""No thread waits for a child of a worker, or of the command line."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

COUNTED = """
import asyncio, sys, threading
from activities.child_watcher import watch_by_pidfd

async def main():
    child = await asyncio.create_subprocess_exec("cat", stdin=asyncio.subprocess.PIPE)
    threads = threading.active_count()
    child.stdin.close()
    print(threads, await child.wait())

watch_by_pidfd()
asyncio.run(main())
"""

STARTED = """
import asyncio, sys

def run(main, **_):
    main.close()
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    with asyncio.get_child_watcher() as watcher:
        print(type(watcher).__name__)
    asyncio.set_event_loop(None)
    loop.close()
    return 0

asyncio.run = run
from {package}.__main__ import main
sys.argv[1:] = {arguments}
main()
"""


def _printed(script: str, **variables: str) -> str:
    done = subprocess.run(
        (sys.executable, "-P", "-c", script),
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), **variables},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_no_thread_waits_for_a_child() -> None:
    assert _printed(COUNTED) == "1 0\n"


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="newer versions watch so by themselves")
@pytest.mark.parametrize(
    ("package", "arguments"),
    [("workers", ["--roles", "models"]), ("starter", ["ls"])],
)
def test_workers_and_the_command_line_watch_so(
    tmp_path: Path, package: str, arguments: list[str]
) -> None:
    script = STARTED.format(package=package, arguments=arguments)
    said = _printed(script, BLUEFLAME_DATA_DIR=str(tmp_path), HOME=str(tmp_path))
    assert said == "PidfdChildWatcher\n"
