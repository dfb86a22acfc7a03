"""`simulate --record` as it is typed: a whole session over HTTP is recorded, and played again.

The real endpoints are played by a simulator of the test; the session speaks to them with the real
clients, through the recorder's process.
"""

import asyncio
import contextlib
import os
import re
import signal
import stat
import subprocess
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import httpx2
import pytest

from activities.adapters.models.scripted.playbook import parse_playbook, read_playbook
from activities.adapters.models.simulator.simulator_server import Simulator, base_urls
from starter.console.exit_codes import ExitCode
from tests.e2e.processes import ROOT, repository
from tests.ports import kept_port
from tests.unit.activities.adapters.models.wire import KEY, OPENING, play
from tests.waiting import COMMAND_PATIENCE, ends, until

pytestmark = pytest.mark.e2e

KEYS = {
    "ANTHROPIC_API_KEY": "canary-anthropic-0123456789",
    "OPENAI_API_KEY": "canary-openai-0123456789",
    "GEMINI_API_KEY": "canary-google-0123456789",
}
PLAY = """
schema: 1
name: two-files
prices: {input_usd: 1, cached_input_usd: 0.1, cache_write_usd: 1.25, output_usd: 5}
usage: {input_tokens: 3000, output_tokens: 200}
scenes:
  - role: planner
    turns:
      - {text: I look around., calls: [{bash: {command: ls}}]}
      - calls:
          - submit_plan:
              tasks:
                - id: greeting
                  title: A greeting
                  description: Write greeting.txt.
                  acceptance_criteria: [greeting.txt greets the world.]
                  claims: [greeting.txt]
                - id: farewell
                  title: A farewell
                  description: Write farewell.txt.
                  acceptance_criteria: [farewell.txt takes leave.]
                  claims: [farewell.txt]
  - role: developer
    task: greeting
    turns:
      - calls: [{write: {path: greeting.txt, content: "Hello,\\n\\n  world\\n"}}]
        error: {kind: unavailable, times: 1}
      - calls: [{submit: {summary: "It greets: canary-openai-0123456789 is not ours."}}]
  - role: developer
    task: farewell
    turns:
      - calls: [{bash: {command: "printf 'Good %s\\\\n' bye > farewell.txt"}}]
      - calls: [{submit: {summary: It takes leave.}}]
        error: {kind: cut, at: end, times: 1}
  - role: reviewer
    task: greeting
    turns:
      - calls:
          - submit_verdict:
              approve: true
              summary: It greets.
              evidence:
                - {criterion: "1", path: greeting.txt, line_start: 1, line_end: 1, quote: "Hello,"}
  - role: reviewer
    task: farewell
    turns:
      - calls:
          - submit_verdict:
              approve: true
              summary: It takes leave.
              evidence:
                - {criterion: "1", path: farewell.txt, line_start: 1, line_end: 1, quote: Good bye}
"""
CONFIGURATION = """
version: 1
models:
  planner: [anthropic/claude-sonnet-4-5]
  developer: [openai/gpt-5]
  reviewer: [google/gemini-2.5-pro]
gates:
  files: {run: [ls], timeout: 1m}
"""


def variables(tmp_path: Path, **more: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ}
    ports = {"BLUEFLAME_TEMPORAL_PORT": "0", "BLUEFLAME_UI_PORT": "0"}
    return {**kept, **ports, "HOME": str(tmp_path), "PYTHONPATH": str(ROOT), **more}


async def blueflame(*arguments: str, tmp_path: Path, **more: str) -> tuple[int | None, str]:
    """Run one command to its end; return its code and all that it said."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", "starter", *arguments,
        env=variables(tmp_path, **more),
        cwd=tmp_path,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    try:
        out, _ = await ends(process.communicate(), f"the end of {arguments}", COMMAND_PATIENCE)
    finally:
        if process.returncode is None:
            process.kill()
    return process.returncode, out.decode()


class Recording:
    """The recorder's process."""

    def __init__(self, url: str, process: asyncio.subprocess.Process) -> None:
        self.url = url
        self.process = process

    async def end(self, number: int = signal.SIGINT) -> str:
        """End it, and return what it said since it was ready."""
        self.process.send_signal(number)
        said, _ = await ends(self.process.communicate(), "the recorder ends")
        return said.decode()


@contextlib.asynccontextmanager
async def recording(
    tmp_path: Path, file: Path, upstream: str, *more: str
) -> AsyncGenerator[Recording]:
    """Run `simulate --record` in front of a simulator, ready when the block is entered."""
    with kept_port() as port:
        process = await _recorder(tmp_path, file, upstream, "--port", str(port), *more)
        try:
            assert process.stdout is not None
            first = await process.stdout.readline()
            assert first.startswith(b"RECORDING: "), first
            yield Recording(f"http://127.0.0.1:{port}", process)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()


async def _recorder(
    tmp_path: Path, file: Path, upstream: str, *more: str
) -> asyncio.subprocess.Process:
    places = [f"{name}={url}" for name, url in base_urls(upstream).items()]
    options = [part for place in places for part in ("--to", place)]
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "starter", "simulate", str(file), "--record"),
        *(*options, *more),
        env=variables(tmp_path),
        cwd=tmp_path,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def tree(folder: Path) -> str:
    """Return what git calls the files of the session's branch."""
    git = ("git", "-C", str(folder))
    listed = subprocess.run(
        [*git, "for-each-ref", "--format=%(refname:short)", "refs/heads/blueflame/*"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    (branch,) = listed
    return subprocess.run(
        [*git, "rev-parse", f"{branch}^{{tree}}"], check=True, capture_output=True, text=True
    ).stdout


@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_a_session_that_was_recorded_is_delivered_again(tmp_path: Path) -> None:
    file, config = tmp_path / "recorded.yaml", tmp_path / "config.yaml"
    config.write_text(CONFIGURATION)
    first, second = (
        repository(tmp_path / name, {"README.md": "# Files\n"}) for name in ("first", "second")
    )
    goal = ("run", "Write two files", "--auto-approve", "--config", str(config))
    async with (
        Simulator(parse_playbook(PLAY, "play.yaml")) as simulator,
        recording(tmp_path, file, simulator.url) as recorder,
    ):
        urls = base_urls(recorder.url)
        places = {
            "BLUEFLAME_DATA_DIR": str(tmp_path / "data-first"),
            "ANTHROPIC_BASE_URL": urls["anthropic"],
            "OPENAI_BASE_URL": urls["openai"],
            "GOOGLE_GEMINI_BASE_URL": urls["google"],
        }
        code, out = await blueflame(
            *goal, "--repo", str(first), tmp_path=tmp_path, **KEYS, **places
        )
        assert code == ExitCode.COMPLETE, out
        said = await recorder.end()
    assert recorder.process.returncode == ExitCode.INTERRUPTED
    assert f"{file}: recorded; turns 8, agents 5" in said
    text = file.read_text()
    assert not any(key in text + said for key in KEYS.values())
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert re.findall(r"kind: (\w+)", text).count("unavailable") == 1
    code, out = await blueflame(
        *goal, "--repo", str(second), "--playbook", str(file),
        tmp_path=tmp_path,
        BLUEFLAME_DATA_DIR=str(tmp_path / "data-second"),
    )  # fmt: skip
    assert code == ExitCode.COMPLETE, out
    assert "SCRIPTED" in out
    assert tree(second) == tree(first)


BODY = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": OPENING.text}]}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_a_recorder_that_is_killed_leaves_what_was_answered(
    tmp_path: Path, number: signal.Signals
) -> None:
    file = tmp_path / "recorded.yaml"
    file.write_text("mine")
    async with (
        Simulator(play("{text: Hello.}", "{text: unused}")) as simulator,
        recording(tmp_path, file, simulator.url, "--force") as recorder,
        httpx2.AsyncClient(trust_env=False) as client,
    ):
        answer = await client.post(
            f"{recorder.url}/v1/messages", json=BODY, headers={"x-api-key": KEY}
        )
        assert answer.status_code == 200
        await until(lambda: file.read_text() != "mine", "the answer is saved")
        await recorder.end(number)
    assert read_playbook(file).scenes[0].turns[0].text == "Hello."
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert names(tmp_path) == ["recorded.yaml"]


async def test_nothing_is_written_where_nothing_was_recorded(tmp_path: Path) -> None:
    file = tmp_path / "recorded.yaml"
    async with (
        Simulator(play("{text: Hello.}")) as simulator,
        recording(tmp_path, file, simulator.url) as recorder,
        httpx2.AsyncClient(trust_env=False) as client,
    ):
        said = BODY | {"messages": [{"role": "user", "content": "Hello"}]}
        await client.post(f"{recorder.url}/v1/messages", json=said, headers={"x-api-key": KEY})
        said = await recorder.end()
    assert "warning: not recorded: POST /v1/messages begins with no header of an agent" in said
    assert said.endswith("nothing was recorded: no request of an agent was answered\n")
    assert not file.exists()
