"""`demo` as it is typed: server, workers, sandbox, git, and everything that it promises to show.

A slow test that `.ci/run` runs nevertheless.
"""

import os
import re
import signal
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.collector import collecting
from tests.e2e.processes import ROOT, until
from tests.report_reader import check_whole, read_page

_PATIENCE = 500
"""In seconds. It takes half a minute where nothing else runs."""
PROMISED = (
    "session: complete",
    "the sample's own tests: 34, all pass",
    "parallel development: 4 agents at the same time",
    "rejected by a gate, then reworked: discounts, attempt 1",
    "rejected by the reviewer, then reworked: tax, attempt 1",
    "conflict, then reworked on the new head: invoice-numbers",
    "decided by Update: the plan once, changesets 7 times",
)


@pytest.mark.e2e
@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_demo_shows_all_it_promises_and_leaves_nothing_running(tmp_path: Path):
    environment = {name: text for name, text in os.environ.items() if name != "TEMPORAL_ADDRESS"}
    # A server that is not there: the demo brings its own.
    environment |= {"TMPDIR": str(tmp_path), "TEMPORAL_ADDRESS": "127.0.0.1:9"}
    with collecting() as (collector, endpoint):
        environment["OTEL_EXPORTER_OTLP_ENDPOINT"] = endpoint.removesuffix("/v1/traces")
        output = _played(tmp_path, environment)
    _is_one_trace(collector.spans)
    for promise in PROMISED:
        assert f"  [x] {promise}" in output, output
    assert "SCRIPTED" in output
    branch = re.search(r"^Branch +(blueflame/\S+) in (\S+)$", output, re.MULTILINE)
    assert branch, output
    changed = subprocess.run(
        ["git", "-C", branch[2], "diff", "--name-only", f"main..{branch[1]}"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    assert changed == [
        "CHANGELOG.md",
        "docs/guide.md",
        *(
            f"orderdesk/{name}.py"
            for name in ("amounts", "currencies", "discounts", "invoices", "numbering", "tax")
        ),
        "tests/test_tax.py",
    ]
    _has_report(output)
    # What it ended takes a moment to be gone.
    until(
        lambda: processes_of(tmp_path) == [],
        "nothing of it runs",
        seen=lambda: processes_of(tmp_path),
    )


def _played(folder: Path, environment: dict[str, str]) -> str:
    """Run the demo to its end, and return what it said."""
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "starter", "demo"],
        cwd=folder,
        env=environment | {"PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=_PATIENCE)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 0, output
    return output


def _has_report(output: str) -> None:
    """The last line names a whole page, whose outcome and cost are those that the demo said."""
    last = output.rstrip().splitlines()[-1]
    page = read_page(Path(last.removeprefix("Report     ")).read_text())
    check_whole(page)
    assert page.figure("outcome") == "complete"
    spent = Decimal(page.figure("spent_usd"))
    assert f"Cost      ${spent:.2f} " in output
    for table in ("cost-task", "cost-role", "cost-model"):
        assert sum(Decimal(usd) for name, usd in page.figures if name == table) == spent
    assert "@@" in page.text, "the diffs"
    assert "found in changed lines" in page.text, "the evidence"
    assert "is not in the store" not in page.text


def _is_one_trace(spans: list[Any]) -> None:
    """Each span once, in one trace, below one that is there; the session alone has none above."""
    ids = [each.span_id for each in spans]
    assert len(ids) == len(set(ids)) > 100
    assert len({each.trace_id for each in spans}) == 1
    assert [each.name for each in spans if each.parent_span_id not in ids] == ["session"]
    above = {each.span_id: each.name for each in spans}
    pairs = {(above.get(each.parent_span_id, ""), each.name) for each in spans}
    assert pairs >= {
        ("session", "plan 1"),
        ("session", "wait for approval of the plan"),
        ("session", "develop 1"),
        ("develop 1", "dev.tax.1"),
        ("dev.tax.1", "turn 1"),
        ("tools.run", "execute_tool bash"),
    }
    gates = [each for each in spans if above.get(each.parent_span_id) == "gates.run"]
    assert any(each.end_time_unix_nano > each.start_time_unix_nano for each in gates), pairs
    assert all(each.end_time_unix_nano >= each.start_time_unix_nano for each in spans)


def processes_of(folder: Path) -> list[str]:
    """List the command lines of processes that name `folder` in command or environment."""
    found: list[str] = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            words, variables = ((entry / name).read_bytes() for name in ("cmdline", "environ"))
        except OSError:
            continue
        if str(folder).encode() in words + variables:
            found.append(words.replace(b"\0", b" ").decode())
    return found
