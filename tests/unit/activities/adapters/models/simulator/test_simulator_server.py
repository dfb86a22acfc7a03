"""The simulator as a program: announced once it listens, ended by a signal, without the engine."""

import json
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from activities.adapters.models.simulator.simulator_server import Simulator, base_urls, serve
from activities.yaml_documents.model_reader import DocumentError
from tests.unit.activities.adapters.models.wire import play
from tests.waiting import PATIENCE

ROOT = Path(__file__).resolve().parents[6]
PLAYBOOK = "schema: 1\nname: s\nscenes: [{role: planner, turns: [{text: hi}]}]\n"
PROGRAM = """
import asyncio, sys
from pathlib import Path
from activities.adapters.models.simulator.simulator_server import serve
def announce(url):
    print(url, "temporalio" in sys.modules, flush=True)
asyncio.run(serve(Path(sys.argv[1]), "127.0.0.1", 0, announce))
"""


def test_serves_until_it_is_interrupted(tmp_path: Path) -> None:
    playbook = tmp_path / "p.yaml"
    playbook.write_text(PLAYBOOK)
    command = [sys.executable, "-c", PROGRAM, str(playbook)]
    with subprocess.Popen(
        command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        url, has_engine = process.stdout.readline().split()
        with httpx2.Client(trust_env=False, timeout=PATIENCE) as client:
            answer = client.get(url + "/_simulator/requests")
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=PATIENCE)
    assert answer.json() == {"schema": 1, "counts": [], "requests": []}
    assert has_engine == "False"
    assert said.strip().endswith("KeyboardInterrupt")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (PLAYBOOK.replace("text", "txet").encode(), r"p\.yaml:3:.*did you mean 'text'"),
        (b"schema: \xff", r"p\.yaml:1:9: not UTF-8; save the file as UTF-8"),
    ],
)
async def test_a_wrong_playbook_is_refused_before_the_port_is_taken(
    tmp_path: Path, content: bytes, why: str
) -> None:
    playbook = tmp_path / "p.yaml"
    playbook.write_bytes(content)
    told: list[str] = []
    with pytest.raises(DocumentError, match=why):
        await serve(playbook, "127.0.0.1", 0, told.append)
    assert told == []


async def test_a_taken_port_is_an_error(tmp_path: Path) -> None:
    playbook = tmp_path / "p.yaml"
    playbook.write_text(PLAYBOOK)
    told: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(OSError, match="in use"):
        await serve(playbook, "127.0.0.1", taken.getsockname()[1], told.append)
    assert told == []


async def test_two_simulators_side_by_side() -> None:
    async with Simulator(play("{text: a}")) as one, Simulator(play("{text: b}")) as other:
        assert one.url != other.url
        assert one.base_urls == base_urls(one.url)


def test_importing_the_model_layer_imports_no_sdk_and_no_engine() -> None:
    program = """
import sys, json
import activities.adapters.models.providers, activities.adapters.models.catalogue
import activities.adapters.models.anthropic, activities.adapters.models.openai
import activities.adapters.models.gemini, activities.adapters.models.simulator.simulator_server
heavy = {"anthropic", "openai", "google.genai", "httpx2", "starlette", "uvicorn", "genai_prices",
         "temporalio", "ruamel.yaml"}
print(json.dumps(sorted(heavy & set(sys.modules))))
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []
