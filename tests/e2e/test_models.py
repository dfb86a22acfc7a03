"""`models` and `models test`: what is configured, and real calls through the adapters."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from activities.adapters.models.scripted.playbook import parse_playbook
from activities.adapters.models.simulator.simulator_server import Simulator
from starter.console.exit_codes import ExitCode
from tests.e2e.processes import ROOT
from tests.waiting import ends

pytestmark = pytest.mark.e2e
CONFIGURATION = """
version: 1
models:
  planner: [anthropic/claude-sonnet-4-5, openai/gpt-5]
  developer: [anthropic/claude-sonnet-4-5]
  reviewer: [openai/gpt-5, google/gemini-2.5-pro]
"""
PLAYBOOK = """
schema: 1
name: trial
usage: {input_tokens: 300, output_tokens: 20}
scenes:
  - {role: planner, turns: [{calls: [{ready: {}}]}]}
  - {role: reviewer, turns: [{calls: [{ready: {}}]}]}
"""
NAMES = ["anthropic/claude-sonnet-4-5", "openai/gpt-5", "google/gemini-2.5-pro"]
KEYS = {"ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "b", "GEMINI_API_KEY": "c"}


def environment(tmp_path: Path, **more: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ}
    return {**kept, "HOME": str(tmp_path), "PYTHONPATH": str(ROOT), **more}


def command(tmp_path: Path, *arguments: str, configuration: str = CONFIGURATION) -> list[str]:
    config = tmp_path / "config.yaml"
    config.write_text(configuration)
    return [sys.executable, "-P", "-m", "starter", "models", *arguments, "--config", str(config)]


def answer(tmp_path: Path, *arguments: str, **more: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command(tmp_path, *arguments),
        env=environment(tmp_path, **more),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_models_are_listed_with_what_is_known(tmp_path: Path) -> None:
    listed = answer(tmp_path, "--json", ANTHROPIC_API_KEY="k")
    document = json.loads(listed.stdout)
    assert (listed.returncode, document["schema_version"]) == (ExitCode.COMPLETE, 1)
    first, second, _ = document["models"]
    assert [each["name"] for each in document["models"]] == NAMES
    assert (first["roles"], first["key"]) == (["planner", "developer"], "set")
    assert (first["facts"]["window_tokens"], second["key"]) == (200_000, "missing")
    shown = answer(tmp_path, ANTHROPIC_API_KEY="k").stdout
    assert "ANTHROPIC_API_KEY is set" in shown
    assert "GEMINI_API_KEY or GOOGLE_API_KEY is MISSING" in shown


def test_without_any_model_the_three_ways_are_said(tmp_path: Path) -> None:
    bare = subprocess.run(
        [sys.executable, "-P", "-m", "starter", "models"],
        env=environment(tmp_path),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert bare.returncode == ExitCode.USAGE
    for way in ("ANTHROPIC_API_KEY", "OPENAI_BASE_URL", "--playbook FILE"):
        assert way in bare.stderr


def test_a_provider_that_only_the_environment_describes_is_listed(tmp_path: Path) -> None:
    model = "models: {planner: [mine/a], developer: [mine/a], reviewer: [scripted/b]}"
    described = '{"mine": {"base_url": "https://gateway.example/v1", "key": "MINE_KEY"}}'
    listed = subprocess.run(
        command(tmp_path, configuration=f"version: 1\n{model}"),
        env=environment(tmp_path, BLUEFLAME_PROVIDERS=described),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (listed.returncode, "MINE_KEY is MISSING" in listed.stdout) == (0, True), listed.stderr


async def simulated(
    tmp_path: Path, *arguments: str, configuration: str = CONFIGURATION, **keys: str
) -> tuple[int | None, str]:
    """Run `models test` against a simulator."""
    async with Simulator(parse_playbook(PLAYBOOK, "trial.yaml"), 0) as simulator:
        urls = simulator.base_urls
        variables = {
            "ANTHROPIC_BASE_URL": urls["anthropic"],
            "OPENAI_BASE_URL": urls["openai"],
            "GOOGLE_GEMINI_BASE_URL": urls["google"],
        }
        process = await asyncio.create_subprocess_exec(
            *command(tmp_path, "test", *arguments, configuration=configuration),
            env=environment(tmp_path, **variables, **keys),
            cwd=tmp_path,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, _ = await ends(process.communicate(), "the end of `models test`")
    return process.returncode, out.decode()


@pytest.mark.slow
async def test_every_model_is_called_once_through_its_adapter(tmp_path: Path) -> None:
    code, out = await simulated(tmp_path, "--json", **KEYS)
    trials: list[dict[str, Any]] = json.loads(out)["trials"]
    assert code == ExitCode.COMPLETE, out
    assert [each["model"] for each in trials] == NAMES
    for trial in trials:
        assert (trial["error"], trial["calls_tools"], trial["scripted"]) == (None, True, True)
        assert trial["usage"]["input_tokens"] == 300
        assert float(trial["cost_usd"]) > 0


@pytest.mark.slow
async def test_a_key_that_is_refused_is_said_and_costs_the_exit_code(tmp_path: Path) -> None:
    wrong = {**KEYS, "OPENAI_API_KEY": "wrong"}
    without_google = CONFIGURATION.replace(", google/gemini-2.5-pro", "")
    code, out = await simulated(tmp_path, configuration=without_google, **wrong)
    assert code == ExitCode.FAILED
    first, second = out.splitlines()
    assert first.startswith("ok      anthropic/claude-sonnet-4-5")
    assert "calls tools" in first
    assert second.startswith("FAILED  openai/gpt-5")
    assert "AuthenticationFailedError" in second
    assert "SCRIPTED" in first
