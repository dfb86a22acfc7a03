"""Measures what safety costs: the policy before a call, the sandbox, redaction, the diff check.

Keys of the last line:
    policy_p99_ms          time of one judgement with its parse: 99th percentile over a corpus of
                           realistic commands; the best of several runs of each command counts, to
                           leave out other load
    sandbox_extra_p50_ms   median time of `true` in the sandbox minus the median of `true` as a
                           plain subprocess, run alternately
    snapshot_extra_p50_ms  the same with a set-up snapshot of 500 files below the workspace
    redaction_mb_s         MB of source code per second that are searched for secrets by form and
                           for ten known keys by value; the best of several runs
    postcheck_1000_s       seconds to judge a collected diff of 1,000 files, including its lines

`--only KEY` measures some of them. To add a figure, add a function to `MEASURES`.
"""

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from activities.adapters.sandbox.blueflame_programs import worker_prefixes
from activities.adapters.sandbox.bubblewrap import BubblewrapSandbox
from activities.adapters.shell.bash_parser import parse
from activities.ports.sandbox_port import Layer, SandboxCommand, Workspace
from activities.text.redaction import KnownSecrets
from benchmarks.postcheck import thousand_files
from benchmarks.stage import report
from tests.dropped import dropped_plan
from tests.unit.policy.commands.command_table import ALLOWED, DENIED
from workers.hosting.privileges import enter
from workflows.domain.agent.model_values import Role
from workflows.domain.agent.tool_policy import Standing
from workflows.policy.commands.judgement import command_denial
from workflows.policy.text.secret_patterns import without_secrets

RUNS = 20
"""Runs of each command; the best counts."""
STARTS = 60
"""Runs of `true`, in each of the two ways."""
SNAPSHOT_FILES = 500
"""Of 100 kB each."""

_PROGRAM = "\n".join(f"def function_{each}(x):\n    return x + {each}\n" for each in range(60))
_LOOK = """cd /workspace && for f in src/*.py; do
  echo "== $f"; sed -n '1,40p' "$f"
done | head -200"""
_BUILD = """set -e
rm -rf build && mkdir -p build/{a,b} && cp src/*.py build/
(cd build && python -m compileall -q . &&
  find . -name '*.pyc' -print0 | xargs -0 ls -l | awk '{print $5}' | sort -n)"""
_TEST = """if ! python -m pytest -x -q tests/test_app.py > /tmp/log 2>&1; then
  tail -40 /tmp/log; grep -n 'Error' /tmp/log | head -5
else
  echo "passed: $(grep -c passed /tmp/log)"
fi"""
_LONG = (
    f"cat > src/made.py <<'EOF'\n{_PROGRAM}EOF\npython -m pytest -q tests 2>&1 | tail -20",
    f"python - <<'EOF'\n{_PROGRAM}EOF",
    _LOOK,
    _BUILD,
    _TEST,
)
CORPUS = (*ALLOWED, *(command for command, _ in DENIED), *_LONG)


async def policy() -> dict[str, float]:
    """Judge the corpus, and return the 99th percentile over its commands."""
    standing = Standing(role=Role.DEVELOPER, claims=("src/**", "tests/**", "docs/**/*.md"))
    best = sorted(min(_judged(command, standing) for _ in range(RUNS)) for command in CORPUS)
    return {"policy_p99_ms": round(statistics.quantiles(best, n=100)[98] * 1e3, 3)}


def _judged(command: str, standing: Standing) -> float:
    began = time.perf_counter()
    command_denial(command, standing, parse)
    return time.perf_counter() - began


async def redaction() -> dict[str, float]:
    """Redact text without secrets, and text with some."""
    known = KnownSecrets(f"canary-{each}-0123456789abcdef" for each in range(10))
    text = _PROGRAM * 200 + "canary-3-0123456789abcdef"
    best = min(_redacted(text, known) for _ in range(RUNS))
    return {"redaction_mb_s": round(len(text) / 1e6 / best, 1)}


def _redacted(text: str, known: KnownSecrets) -> float:
    began = time.perf_counter()
    known.redact(without_secrets(text))
    return time.perf_counter() - began


async def postcheck() -> dict[str, float]:
    """Judge a diff of 1,000 files."""
    with tempfile.TemporaryDirectory(prefix="blueflame-bench-") as name:
        return {"postcheck_1000_s": round(await thousand_files(Path(name)), 3)}


async def sandbox() -> dict[str, float]:
    """Run `true` alternately, plainly and in the sandbox, and return what the sandbox adds."""
    confined = BubblewrapSandbox(worker_prefixes())
    probe = await confined.probe()
    if not probe.usable:
        raise SystemExit(f"there is no sandbox here: {probe.reason}")
    with tempfile.TemporaryDirectory() as folder:
        return {"sandbox_extra_p50_ms": await _extra(confined, Workspace(path=Path(folder)))}


async def snapshot() -> dict[str, float]:
    """Do the same with a snapshot beneath the workspace."""
    confined = BubblewrapSandbox(worker_prefixes())
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        top = Path(folder)
        layering = await confined.layering(top)
        if layering.kind != "mounted":
            raise SystemExit(f"no layer can be mounted here: {layering.reason}")
        (top / "lower" / "lib").mkdir(parents=True)
        (top / "upper").mkdir()
        for number in range(SNAPSHOT_FILES):
            (top / "lower" / "lib" / f"{number}").write_bytes(bytes(100_000))
        layer = Layer(root=top, lower="lower", upper="upper", work="work")
        workspace = Workspace(path=top / "upper", layer=layer)
        return {"snapshot_extra_p50_ms": await _extra(confined, workspace)}


async def _extra(confined: BubblewrapSandbox, workspace: Workspace) -> float:
    """Return what the sandbox adds to `true`, in milliseconds."""
    command = SandboxCommand(argv=("true",), workspace=workspace)
    plain, inside = list[float](), list[float]()
    for _ in range(STARTS):
        began = time.perf_counter()
        started = await asyncio.create_subprocess_exec("true")
        await started.wait()
        plain.append(time.perf_counter() - began)
        began = time.perf_counter()
        await confined.run(command)
        inside.append(time.perf_counter() - began)
    return round((statistics.median(inside) - statistics.median(plain)) * 1e3, 2)


MEASURES: dict[str, Callable[[], Awaitable[dict[str, float]]]] = {
    "policy_p99_ms": policy,
    "sandbox_extra_p50_ms": sandbox,
    "snapshot_extra_p50_ms": snapshot,
    "redaction_mb_s": redaction,
    "postcheck_1000_s": postcheck,
}


async def main(only: list[str]) -> None:
    """Measure and report."""
    figures: dict[str, object] = {}
    for key in only or MEASURES:
        figures |= await MEASURES[key]()
    report(figures, [f"{len(CORPUS)} commands, {STARTS} starts"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=sorted(MEASURES), default=[])
    arguments = parser.parse_args()
    if os.geteuid() == 0:
        # Root does not start a sandbox, as in a host worker.
        enter(dropped_plan((sys.executable, "-m", "benchmarks.safety", *sys.argv[1:])))
    asyncio.run(main(arguments.only))
