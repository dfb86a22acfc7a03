"""`worktree.network` through the activities: set-up has it, agents' tools and gates do not."""

import shutil
from pathlib import Path

import pytest
from temporalio.exceptions import ApplicationError

from activities.adapters.sandbox.unconfined import UnconfinedSandbox
from tests.security.listed import BODY, NAME, Listed
from tests.unit.activities.adapters.git.home import Home
from tests.unit.activities.situations import SetUp, Situation, bash

pytestmark = pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")

LOOK = "env | grep -i -c proxy; curl -sS -x http://127.0.0.1:3128 http://x.example.org/ 2>&1"
NOTHING = "0\ncurl: (7) "


@pytest.fixture
def situation(tmp_path: Path, world: Listed) -> Situation:
    return Situation(tmp_path, world.sandbox())


def plain(home: Home) -> None:
    home.make({"README.md": "x\n", ".gitignore": "fetched\n"})


def fetching(world: Listed, more: str = "true") -> SetUp:
    """A set-up that fetches a file from the listed host."""
    fetch = f"curl -sSf -o fetched http://{NAME}:{world.plain}/a; {more}"
    return SetUp((("bash", "-ec", fetch),), world.network)


async def test_set_up_of_an_agent_reaches_the_list_and_its_tools_do_not(
    situation: Situation, world: Listed
):
    (agent,) = await situation.begin(plain, "a", set_up=fetching(world))
    assert len(world.connections) == 1
    (fetched,) = await agent.turn(bash("cat fetched"))
    assert fetched.startswith(BODY.decode())
    (looked,) = await agent.turn(
        bash('python3 -c "import os; print([n for n in os.environ if \\"roxy\\" in n.lower()])"')
    )
    assert looked.startswith("[]")
    (tried,) = await agent.turn(
        bash("python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", 3128), 5)'")
    )
    assert "ConnectionRefusedError" in tried
    assert len(world.connections) == 1


async def test_set_up_of_a_gate_reaches_the_list_and_the_gate_does_not(
    situation: Situation, world: Listed
):
    await situation.begin(plain)
    report = await situation.report(
        *(situation.home.base, "bash", "-c", f"cat fetched; {LOOK}"), set_up=fetching(world)
    )
    assert report.results[0].excerpt.startswith(f"{BODY.decode()}{NOTHING}")
    assert report.notices == ()
    assert len(world.connections) == 1


async def test_a_set_up_that_fails_for_a_host_says_which_one_and_what_to_do(
    situation: Situation, world: Listed
):
    with pytest.raises(ApplicationError) as failed:
        await situation.begin(
            plain, "a", set_up=fetching(world, "curl -sSf https://pkg.example.org/")
        )
    assert failed.value.type == "SetupFailed"
    assert ":\nhost 'pkg.example.org' is not in 'worktree.network'" in str(failed.value)
    assert "add 'pkg.example.org' there in your own configuration" in str(failed.value)


async def test_a_host_that_set_up_did_without_is_told_all_the_same(
    situation: Situation, world: Listed
):
    without = fetching(world, "curl -sSf https://stats.example.org/ || true")
    await situation.begin(plain, "a", set_up=without)
    report = await situation.report(situation.home.base, "true", set_up=without)
    assert [text[:26] for text in report.notices] == ["host 'stats.example.org' i"]


async def test_without_a_list_set_up_has_no_network(situation: Situation, world: Listed):
    alone = SetUp((("bash", "-c", f"{LOOK}; exit 1"),))
    with pytest.raises(ApplicationError) as failed:
        await situation.begin(plain, "a", set_up=alone)
    assert NOTHING in str(failed.value)


@pytest.mark.parametrize(
    ("network", "said"),
    [
        ((), "in a sandbox set-up has no network where 'worktree.network' lists no host"),
        ((f"{NAME}:1",), "set-up reaches a network only through HTTP_PROXY and HTTPS_PROXY"),
    ],
)
async def test_a_program_that_looks_for_a_network_by_itself_gets_a_hint(
    situation: Situation, network: tuple[str, ...], said: str
):
    alone = SetUp((("curl", "--noproxy", "*", "-sS", f"http://{NAME}/"),), network)
    with pytest.raises(ApplicationError) as failed:
        await situation.begin(plain, "a", set_up=alone)
    assert said in str(failed.value)


async def test_any_other_failure_gets_none(situation: Situation):
    with pytest.raises(ApplicationError) as failed:
        await situation.begin(plain, "a", set_up=SetUp((("false",),)))
    assert "network" not in str(failed.value)


async def test_without_a_sandbox_the_list_holds_no_program_back(tmp_path: Path, world: Listed):
    situation = Situation(tmp_path, UnconfinedSandbox())
    direct = f"curl -sSf -o fetched http://127.0.0.1:{world.plain}/"
    listing = SetUp((("bash", "-ec", direct),), ("pkg.example",))
    await situation.begin(plain, "a", set_up=listing)
    assert len(world.connections) == 1
