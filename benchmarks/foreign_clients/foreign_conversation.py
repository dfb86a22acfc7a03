"""One conversation of a foreign client with the simulator, in a network of its own.

Run as a program in a network namespace: `python -m … CLIENT PACKAGES FOLDER`. The namespace has a
loopback interface and nothing else. The last line of standard output is the outcome as JSON.
"""

import fcntl
import json
import os
import socket
import struct
import subprocess
import sys
import urllib.request
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from benchmarks.foreign_clients.foreign_client_table import (
    CLIENTS,
    FINAL,
    MADE,
    SAID,
    Client,
    playbook,
)

_ROOT: Final = Path(__file__).resolve().parents[2]
_PORT: Final = 8765
_URL: Final = f"http://127.0.0.1:{_PORT}"
_CLIENT_S: Final = 120
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 0x1
_TURNS: Final = (("tool_calls", 1), ("end", 2))


def main(words: Sequence[str]) -> int:
    """Hold the conversation and print its faults."""
    name, packages, folder = words
    client = next(each for each in CLIENTS if each.name == name)
    _bring_up_loopback()
    print(json.dumps(converse(client, Path(packages), Path(folder))))
    return 0


def converse(client: Client, packages: Path, folder: Path) -> list[str]:
    """Let a client talk to the simulator; return what was wrong.

    Args:
        client: who.
        packages: where npm installed it.
        folder: an empty one, for its home, its work and the playbook.
    """
    home, work = folder / "home", folder / "work"
    home.mkdir()
    work.mkdir()
    client.prepare(home)
    script = folder / "playbook.yaml"
    script.write_text(playbook([client]))
    with _simulator(script, home):
        done = _run(client.command(packages, _URL), work, _environment(client, home, folder))
        logged = _logged()
    made = work / MADE
    return faults(done, made.read_text() if made.is_file() else "", logged)


def faults(
    done: "subprocess.CompletedProcess[str]", made: str, logged: Sequence[Mapping[str, object]]
) -> list[str]:
    """Return what a completed conversation does not have.

    Args:
        done: the client, ended.
        made: the file that the tool call writes; empty: there is none.
        logged: the simulator's log of requests.
    """
    found = [f"request refused: {each.get('why')}" for each in logged if "why" in each]
    turns = tuple((each["outcome"], each["turn"]) for each in logged if "turn" in each)
    if turns != _TURNS and not found:
        found.append(f"the turns were {turns}, not {_TURNS}")
    if SAID not in made:
        found.append("the tool call did not run")
    if done.returncode != 0 or FINAL not in done.stdout:
        tail = (done.stdout + done.stderr)[-2000:]
        found.append(f"it ended with code {done.returncode} and the output: {tail}")
    return found


@contextmanager
def _simulator(script: Path, home: Path) -> Generator[None]:
    command = (sys.executable, "-P", "-m", "starter", "simulate", str(script), "--port", str(_PORT))
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, cwd=_ROOT, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            if process.stdout is None or not process.stdout.readline():
                raise RuntimeError("the simulator did not start; its error is above")
            yield
        finally:
            process.terminate()


def _run(
    command: Sequence[str], work: Path, environment: Mapping[str, str]
) -> "subprocess.CompletedProcess[str]":
    try:
        return subprocess.run(
            command,
            cwd=work,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_CLIENT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "", f"no end after {_CLIENT_S} s")


def _environment(client: Client, home: Path, folder: Path) -> dict[str, str]:
    """Nothing of the person's own but the path."""
    plain = {"HOME": str(home), "TMPDIR": str(folder), "LANG": "C.UTF-8", "SHELL": "/bin/bash"}
    return {"PATH": os.environ["PATH"], **plain, **client.variables(_URL)}


def _logged() -> list[Mapping[str, object]]:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"{_URL}/_simulator/requests", timeout=_CLIENT_S) as answer:
        return json.load(answer)["requests"]


def _bring_up_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        asked = struct.pack("16sH14x", b"lo", 0)
        _, flags = struct.unpack("16sH14x", fcntl.ioctl(any_socket, _GET_FLAGS, asked))
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sH14x", b"lo", flags | _UP))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
