"""Run the tests; run failed tests a second time, alone, and pass if they then pass.

A test that passes the second time is listed under the heading FLAKY with its first failure. It is a
defect of the test or of the program: fix it before you finish your change. A test that fails twice
fails the run, and so does one that is skipped the second time. A run that ends in another way (no
tests, a file that cannot be collected, a process of xdist that died, an internal error) fails at
once.

Usage: python scripts/retry_failed.py [--first OPTIONS ...] -- OPTIONS ...
The options after `--first` are only for the first run: `-n 3`, and which tests.
"""

import sys

from pytest_runs import ROOT, Run, run

FAILED = 1
"""pytest's exit code if tests failed and nothing else was wrong."""
MOST = 20
"""With more failures than this, something is broken, and no test is run again."""


def main(arguments: list[str]) -> int:
    """Return the exit code."""
    common, first = _split(arguments)
    before = run([*common, *first])
    if before.code != FAILED or not 0 < len(before.failures) <= MOST:
        return before.code
    if before.is_broken:
        return before.code  # a file that cannot be collected, or a process of xdist
    print(f"\n== second run, alone: {len(before.failures)} that failed", flush=True)
    again = run([*common, "-p", "no:randomly", *before.failures])
    if again.code not in {0, FAILED}:
        return again.code
    return 0 if _report(before, again) == 0 and again.code == 0 else FAILED


def _split(arguments: list[str]) -> tuple[list[str], list[str]]:
    if "--" not in arguments:
        return arguments, []
    place = arguments.index("--")
    first = arguments[:place]
    if first[:1] == ["--first"]:
        first = first[1:]
    return arguments[place + 1 :], first


def _report(before: Run, again: Run) -> int:
    """Print what was flaky and what failed twice; return how many failed twice."""
    well = again.passes - set(again.failures)
    flaky = {test: text for test, text in before.failures.items() if test in well}
    if flaky:
        print("\nFLAKY")
    for test, text in flaky.items():
        print(f"- {test}")
        print("\n".join(f"    {line}" for line in text.splitlines()[-20:]))
    twice = [test for test in before.failures if test not in well]
    for test in twice:
        print(f"FAILED TWICE {test}")
    return len(twice)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    raise SystemExit(main(sys.argv[1:]))
