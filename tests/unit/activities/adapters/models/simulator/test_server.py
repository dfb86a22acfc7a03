"""The simulator as a program: announced once it listens, ended by a signal, without the engine."""

import json
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from activities.adapters.models.simulator.server import Simulator, base_urls, serve
from activities.documents import DocumentError
from tests.unit.activities.adapters.models.wire import play

ROOT = Path(__file__).resolve().parents[6]
PLAYBOOK = "schema: 1\nname: s\nscenes: [{role: planner, turns: [{text: hi}]}]\n"
PROGRAM = """
import sys
from pathlib import Path
from activities.adapters.models.simulator.server import serve
serve(Path(sys.argv[1]), "127.0.0.1", 0, lambda url: print(url, flush=True))
print("temporalio" in sys.modules, flush=True)
"""


def test_serves_until_it_is_interrupted(tmp_path: Path) -> None:
    playbook = tmp_path / "p.yaml"
    playbook.write_text(PLAYBOOK)
    command = [sys.executable, "-c", PROGRAM, str(playbook)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        with httpx2.Client(trust_env=False) as client:
            answer = client.get(url + "/_simulator/requests")
        process.send_signal(signal.SIGTERM)
        said, _ = process.communicate(timeout=30)
    assert answer.json() == {"schema": 1, "counts": [], "requests": []}
    assert "True" not in said
    assert process.returncode in {0, -signal.SIGTERM}


def test_a_wrong_playbook_is_refused_before_the_port_is_taken(tmp_path: Path) -> None:
    playbook = tmp_path / "p.yaml"
    playbook.write_text(PLAYBOOK.replace("text", "txet"))
    told: list[str] = []
    with pytest.raises(DocumentError, match=r"p\.yaml:3:.*did you mean 'text'"):
        serve(playbook, "127.0.0.1", 0, told.append)
    assert told == []


def test_a_taken_port_is_an_error(tmp_path: Path) -> None:
    playbook = tmp_path / "p.yaml"
    playbook.write_text(PLAYBOOK)
    told: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(OSError, match="in use"):
        serve(playbook, "127.0.0.1", taken.getsockname()[1], told.append)
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
import activities.adapters.models.gemini, activities.adapters.models.simulator.server
heavy = {"anthropic", "openai", "google.genai", "httpx2", "starlette", "uvicorn", "genai_prices",
         "temporalio", "ruamel.yaml"}
print(json.dumps(sorted(heavy & set(sys.modules))))
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60)
    assert json.loads(done.stdout) == []
