"""Run the tests many times, under changing seeds and processor load, and list every failed test.

Usage: scripts/stress RUNS [--load PROCESSES] [OPTIONS OF PYTEST ...]
Run N shuffles the tests with seed N, while `--load` busy processes run (2 by default). The script
exits with 1 if any test failed in any run.
"""

import argparse
import contextlib
import os
import subprocess
import sys
from collections.abc import Generator

from pytest_runs import run

_BUSY = "import os, sys\nwhile os.getppid() == int(sys.argv[1]): sum(range(100_000))"
"""Ends by itself when the program that started it has ended."""


def main() -> int:
    """Return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("runs", type=int)
    parser.add_argument("--load", type=int, default=2)
    wanted, options = parser.parse_known_args()
    failed: dict[str, list[int]] = {}
    broken: list[int] = []
    for seed in range(1, wanted.runs + 1):
        print(f"\n== run {seed} of {wanted.runs}, seed {seed}, load {wanted.load}", flush=True)
        with _load(wanted.load):
            done = run([f"--randomly-seed={seed}", *options])
        for test in done.failures:
            failed.setdefault(test, []).append(seed)
        if done.code not in {0, 1} or done.is_broken:
            broken.append(seed)
    print(f"\n== {wanted.runs} runs: {len(failed)} tests ever failed")
    for test, seeds in sorted(failed.items(), key=lambda each: -len(each[1])):
        print(f"{len(seeds)} times, seeds {', '.join(map(str, seeds))}: {test}")
    for seed in broken:
        print(f"seed {seed}: pytest itself failed")
    return 1 if failed or broken else 0


@contextlib.contextmanager
def _load(processes: int) -> Generator[None]:
    """Keep processors busy; end only the processes that were started here."""
    command = [sys.executable, "-S", "-c", _BUSY, str(os.getpid())]
    busy = [subprocess.Popen(command) for _ in range(processes)]
    try:
        yield
    finally:
        for each in busy:
            each.kill()
            each.wait()


if __name__ == "__main__":
    raise SystemExit(main())
