"""Set-up with a network, in a real sandbox: it reaches what is listed, and nothing else."""

import asyncio
import os
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from activities.adapters.sandbox.unconfined import UnconfinedSandbox
from activities.ports.sandbox_port import (
    Limits,
    Sandbox,
    SandboxCommand,
    SandboxResult,
    SandboxUnavailableError,
    Workspace,
)
from tests.security.attacks.listed_hosts import CASES, RAW, Way
from tests.security.listed import BODY, NAME, Listed
from tests.waiting import until

has_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
_FETCH = "import sys, urllib.request as u; print(u.urlopen(sys.argv[1]).read().decode())"


@pytest.fixture
def tree(tmp_path: Path, world: Listed) -> Path:
    path = tmp_path / "tree"
    path.mkdir()
    (path / "ca.pem").write_bytes(world.certificate)
    return path


async def run(
    sandbox: Sandbox, tree: Path, *argv: str, network: tuple[str, ...] = (), **env: object
) -> SandboxResult:
    command = SandboxCommand(
        argv=argv,
        workspace=Workspace(path=tree),
        env=tuple((name, str(value)) for name, value in env.items()),
        limits=Limits(timeout=timedelta(seconds=60)),
        network=network,
    )
    return await sandbox.run(command)


# ------------------------------------------------------------------------------ what is reached


def by_curl(command: str) -> Any:
    return pytest.param(command, marks=has_curl)


@pytest.mark.parametrize(
    "client",
    [
        f"python3 -c '{_FETCH}' http://{NAME}:$PLAIN/a",
        f"SSL_CERT_FILE=ca.pem python3 -c '{_FETCH}' https://{NAME}:$TLS/a",
        by_curl(f"curl -sS http://{NAME}:$PLAIN/a"),
        by_curl(f"curl -sS -p http://{NAME}:$PLAIN/a"),
        by_curl(f"curl -sS --cacert ca.pem https://{NAME}:$TLS/a"),
        by_curl(f"env -u HTTPS_PROXY curl -sS --cacert ca.pem https://{NAME}:$TLS/a"),
    ],
)
async def test_real_clients_reach_a_listed_host(world: Listed, tree: Path, client: str):
    ran = await run(
        *(world.sandbox(), tree, "bash", "-c", client),
        network=world.network,
        PLAIN=world.plain,
        TLS=world.encrypted,
    )
    assert (ran.code, ran.output.strip(), ran.refusals) == (0, BODY, ())
    assert [each.split(b"\r\n")[0] for each in world.seen] == [b"GET /a HTTP/1.1"]
    assert world.asked == [NAME]


@has_curl
async def test_a_refused_host_is_told_to_the_command_and_to_the_person(world: Listed, tree: Path):
    script = f"curl -sS http://other.example.org/; python3 -c '{_FETCH}' https://third.example.org/"
    ran = await run(world.sandbox(), tree, "bash", "-c", script, network=world.network)
    assert b"add 'other.example.org' there in your own configuration" in ran.output
    assert b"403 Host is not in worktree.network" in ran.output
    assert [name for name in ("other", "third") if name in " ".join(ran.refusals)] == [
        "other",
        "third",
    ]
    assert (world.seen, world.asked) == ([], [])


# -------------------------------------------------------------------------- what is not reached


@pytest.mark.parametrize(
    "way",
    [pytest.param(w, id=w.name, marks=[has_curl] if "curl" in w.attack else ()) for w in CASES],
)
async def test_no_way_round_the_list(world: Listed, tree: Path, way: Way):
    facts = {"PLAIN": world.plain, "OTHER": world.plain}
    others = (f"other.example.org:{world.plain}",)
    with_control = world.sandbox() if way.control == "listed" else UnconfinedSandbox()
    ran = await run(with_control, tree, "bash", "-c", way.attack, network=others, **facts)
    wanted = f"something is reached without the layer: {ran.output!r}"
    await until(lambda: bool(world.connections), wanted)
    world.connections.clear()
    listing = (f"{NAME}:{world.encrypted}",)
    await run(world.sandbox(), tree, "bash", "-c", way.attack, network=listing, **facts)
    assert world.connections == []


async def test_no_spelling_of_a_host_deceives_the_proxy(world: Listed, tree: Path):
    facts = {"PLAIN": world.plain, "OTHER": world.plain}
    script = "\n".join(attack for _, attack in RAW)
    ran = await run(
        world.sandbox(), tree, "bash", "-c", script, network=(f"{NAME}:{world.encrypted}",), **facts
    )
    assert world.connections == []
    answers = ran.output.splitlines()
    assert len(answers) == len(RAW)
    assert all(b"HTTP/1.1 40" in answer for answer in answers)


async def test_names_are_not_resolved_inside(world: Listed, tree: Path):
    script = (
        f"getent ahosts {NAME} || python3 -c 'import socket; socket.getaddrinfo(\"{NAME}\", 1)'"
    )
    ran = await run(world.sandbox(), tree, "bash", "-c", script, network=world.network)
    assert b"gaierror" in ran.output
    assert world.asked == []


@has_curl
@pytest.mark.parametrize(
    "answers",
    [("127.0.0.1",), ("169.254.169.254",), ("8.8.8.8", "127.0.0.1"), ("::ffff:127.0.0.1",)],
)
async def test_a_listed_name_that_leads_inside_is_not_followed(
    world: Listed, tree: Path, answers: tuple[str, ...]
):
    world.answers = answers
    ran = await run(
        *(world.sandbox(strict=True), tree, "curl", "-sS", f"http://{NAME}:{world.plain}/"),
        network=world.network,
    )
    assert b"which is not public" in ran.output
    assert len(ran.refusals) == 1
    assert world.connections == []


# --------------------------------------------------------------------------- who else has it


@has_curl
async def test_other_commands_have_no_door_while_one_is_open(world: Listed, tree: Path):
    fetch = f"curl -sS http://{NAME}:{world.plain}/"
    os.mkfifo(tree / "open")
    os.mkfifo(tree / "done")
    waits = f"echo >open; cat done >/dev/null; {fetch}"
    look = (
        "cat open >/dev/null\n"
        f"{fetch}; curl -sS -x http://127.0.0.1:3128 http://{NAME}:{world.plain}/\n"
        "env | grep -i proxy; ls -l /proc/self/fd | grep -c socket; echo >done"
    )
    box = world.sandbox()
    with_door, without = await asyncio.gather(
        run(box, tree, "bash", "-c", waits, network=world.network),
        run(box, tree, "bash", "-c", look),
    )
    assert (with_door.code, with_door.output) == (0, BODY)
    assert len(world.connections) == 1
    lines = without.output.splitlines()
    assert [line[:9] for line in lines[:-1]] == [b"curl: (6)", b"curl: (7)"]
    assert lines[-1] == b"0"


async def test_the_command_inherits_no_descriptor_of_the_door(world: Listed, tree: Path):
    listing = ("python3", "-c", "import os; print(sorted(os.listdir('/proc/self/fd')))")
    with_door = await run(world.sandbox(), tree, *listing, network=world.network)
    without = await run(world.sandbox(), tree, *listing)
    assert with_door.output == without.output


def _held() -> set[object]:
    """Return what is open and what runs."""
    return {*os.listdir("/proc/self/fd"), *asyncio.all_tasks()}


@has_curl
async def test_nothing_is_left_behind(world: Listed, tree: Path):
    box = world.sandbox()
    before = _held()
    script = f"(setsid sleep 60 &) ; curl -sS http://{NAME}:{world.plain}/; curl -sS x.example.org"
    ran = await run(box, tree, "bash", "-c", script, network=world.network)
    assert ran.survivors == 1
    assert BODY in ran.output
    await until(lambda: _held() <= before, "the end of all connections and tasks")


@has_curl
async def test_nothing_is_left_behind_by_a_cancelled_one(world: Listed, tree: Path):
    before = _held()
    held = f"curl -sS http://{NAME}:{world.plain}/; sleep 60"
    running = asyncio.ensure_future(
        run(world.sandbox(), tree, "bash", "-c", held, network=world.network)
    )
    await until(lambda: bool(world.connections), "a request of the set-up")
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await until(lambda: _held() <= before, "the end of all connections and tasks")


# ------------------------------------------------------------------- the command is as without


@pytest.mark.parametrize(
    "argv",
    [
        ("no-such-program",),
        ("./not-executable",),
        ("bash", "-c", "exit 3"),
        ("bash", "-c", "kill -KILL $$"),
        ("printf", "%s|", "a b", "", "$HOME"),
        ("cat",),
    ],
)
async def test_the_end_of_a_command_is_as_without_a_door(
    world: Listed, tree: Path, argv: tuple[str, ...]
):
    (tree / "not-executable").write_text("x")
    with_door = await run(world.sandbox(), tree, *argv, network=world.network)
    without = await run(world.sandbox(), tree, *argv)
    assert (with_door.end, with_door.code) == (without.end, without.code)
    assert (argv[0] in with_door.output.decode()) == (argv[0] in without.output.decode())


async def test_a_module_in_the_worktree_is_not_run_by_the_door(world: Listed, tree: Path):
    for name in ("os", "socket", "sys", "sitecustomize", "usercustomize"):
        (tree / f"{name}.py").write_text("open('/workspace/pwned', 'w')")
    ran = await run(world.sandbox(), tree, "true", network=world.network, PYTHONPATH="/workspace")
    assert ran.code == 0
    assert not (tree / "pwned").exists()


async def test_where_the_sandbox_cannot_start_the_door_is_no_obstacle(world: Listed, tree: Path):
    (tree / "file").touch()
    command = SandboxCommand(
        argv=("true",), workspace=Workspace(path=tree / "file"), network=world.network
    )
    with pytest.raises(SandboxUnavailableError):
        await world.sandbox().run(command)
