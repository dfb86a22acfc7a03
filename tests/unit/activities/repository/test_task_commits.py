"""The commits of a task: the convention of their repository, and one for all turns or one each."""

from collections.abc import Callable
from pathlib import Path

import pytest

from activities.adapters.sandbox.bubblewrap import BubblewrapSandbox
from tests.unit.activities.adapters.git.home import SESSION, Home, plain_git
from tests.unit.activities.situations import Agent, Situation, bash
from workflows.contracts.host_contracts import CommitWords, TaskCommitted
from workflows.domain.ids import TaskId
from workflows.domain.plan import TaskKind

pytestmark = pytest.mark.sandbox

KEY_LIKE = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
WORDS = CommitWords(
    kind=TaskKind.CODE,
    goal="Prices for SHOP-142",
    summary="Prices had no currency.",
    criteria=("`price('EUR')` gives cents",),
)
TRAILERS = "Blueflame-Session: s1\nBlueflame-Task: t"


@pytest.fixture
def situation(tmp_path: Path) -> Situation:
    return Situation(tmp_path, BubblewrapSandbox())


def history(*subjects: str) -> Callable[[Home], None]:
    """Return what makes a repository with these subjects, the newest last."""

    def make(home: Home) -> None:
        home.make({"cart/total.py": "0\n"})
        for number, subject in enumerate(subjects):
            home.commit({"n.txt": f"{number}\n"}, subject)

    return make


async def log(situation: Situation, agent: Agent, *, keeps_turns: bool) -> list[str]:
    """Submit; return the messages of the task's commits, the newest first."""
    done = await agent.submit(WORDS, keeps_turns=keeps_turns)
    assert isinstance(done, TaskCommitted), done
    bare = situation.home.top / "host" / "repositories" / f"{'k' * 32}.git"
    span = f"{situation.home.base}..{done.commit}"
    told = plain_git(bare, "log", "-z", "--format=%B", span)
    return [each.strip() for each in told.split("\0") if each]


async def test_the_message_follows_the_history_and_says_why(situation: Situation):
    subjects = [f"feat(cart): add item {number}" for number in range(6)]
    (agent,) = await situation.begin(history(*subjects), "t")
    await agent.turn(bash("echo 1 > cart/total.py"))
    (message,) = await log(situation, agent, keeps_turns=False)
    assert message == (
        "feat(cart): work of t\n\nPrices had no currency.\n\n"
        f"Criteria met:\n- `price('EUR')` gives cents\n\n{TRAILERS}\nBlueflame-Attempt: 1"
    )


async def test_each_turn_that_changed_files_has_a_commit_but_none_with_a_secret(
    situation: Situation,
):
    (agent,) = await situation.begin(history("Start"), "t")
    await agent.turn(bash("echo 1 > cart/total.py"))
    await agent.turn(bash("ls"))
    await agent.turn(bash(f"echo '{KEY_LIKE}' > key.txt"))
    await agent.turn(bash("rm key.txt; echo 2 > cart/total.py"))
    await agent.turn(bash("echo 3 > cart/total.py"))
    messages = await log(situation, agent, keeps_turns=True)
    assert [each.partition("\n")[0] for each in messages] == [
        "Work of t",
        "Work of t (turn 4)",
        "Work of t (turn 1)",
    ]
    assert f"{TRAILERS}\nBlueflame-Turn: 4" in messages[1]
    bare = situation.home.top / "host" / "repositories" / f"{'k' * 32}.git"
    tip = plain_git(bare, "rev-parse", "refs/blueflame/s1/tasks/t")
    assert KEY_LIKE not in plain_git(bare, "log", "-p", f"{situation.home.base}..{tip}")


async def test_another_attempt_finds_the_base_below_kept_turns(situation: Situation):
    (agent,) = await situation.begin(history("Start"), "t")
    await agent.turn(bash("echo 1 > cart/total.py"))
    await agent.turn(bash("echo 2 > cart/total.py"))
    done = await agent.submit(WORDS, keeps_turns=True)
    assert isinstance(done, TaskCommitted)
    second = await situation.again("t", done.commit)
    await second.turn(bash("echo 3 > cart/total.py"))
    repository = situation.host.repository("k" * 32)
    ref = "refs/blueflame/s1/agents/dev.t.2"
    recorded = await repository.recorded_turns(ref, SESSION, TaskId("t"))
    assert recorded is not None
    assert [each.agent for each in recorded.turns] == ["dev.t.2"]
    assert recorded.base == situation.home.base
