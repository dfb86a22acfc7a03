"""Every kind of message of one session, and those of an end that fails, each with a real kill.

Role `land` is killed while it sends each message for the first time. The targets are Apprise's JSON
and a webhook, on a local server.
"""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import pytest

from activities.adapters.models.scripted.playbook import Playbook
from starter.sessions.short_ids import make_id
from tests.crash import play
from tests.crash.kills import Handle
from tests.crash.message_stage import MessageStage, message_stage
from tests.crash.stage import Stage
from tests.receiver import Post, Receiver
from tests.waiting import LONG_PATIENCE, ends, until
from workers.roles import Role
from workflows import queues
from workflows.domain.gate import GateSpec
from workflows.domain.ids import TaskId
from workflows.domain.plan import Plan, Task
from workflows.domain.session.notification import NotificationKind
from workflows.domain.session.query_answers import SessionResult, SessionView
from workflows.domain.session.session_config import Approvals, SessionConfig
from workflows.domain.session.session_modes import Pacing
from workflows.domain.session.session_start import SessionRequest

ALL: Final = tuple(NotificationKind)
_SUBMIT: Final[dict[str, Any]] = {"calls": [{"submit": {"summary": "filled"}}]}


def _writes(path: str) -> dict[str, Any]:
    return {"calls": [{"write": {"path": path, "content": "asks 1\n"}}]}


def _developer(task: str, *turns: dict[str, Any]) -> dict[str, Any]:
    return {"role": "developer", "task": task, "turns": [*turns, _SUBMIT]}


def playbook() -> Playbook:
    """Return agents: one asks, two leave their claims, of which one's key is refused at first."""
    ask = {"calls": [{"ask": {"question": "Which rounding?"}}]}
    locked = {**_writes("locked.txt"), "error": {"kind": "auth", "times": 1}}
    cited = {"criterion": "1", "path": "asks/log.txt", "line_start": 1, "line_end": 1}
    evidence = {**cited, "quote": "asks 1"}
    verdict = {"approve": True, "summary": "good", "evidence": [evidence]}
    scenes = [
        _developer("asks", ask, _writes("asks/log.txt")),
        _developer("breaks", _writes("a/b")),
        _developer("locked", locked),
        {"role": "reviewer", "turns": [{"calls": [{"submit_verdict": verdict}]}]},
    ]
    usage = {"input_tokens": 1_000, "output_tokens": 100}
    document = {"schema": 1, "name": "messages", "usage": usage, "scenes": scenes}
    return Playbook.model_validate(document)


async def start(stage: Stage, *tasks: str, approvals: Approvals) -> Handle:
    """Start a session on a repository of its own, with a plan of these tasks."""
    repository = await asyncio.to_thread(play.make_repository, stage.folder / tasks[0])
    planned = [
        Task(
            id=TaskId(name),
            title=f"Fill {name}",
            acceptance_criteria=("1",),
            claims=(f"{name}/**",),
        )
        for name in tasks
    ]
    config = SessionConfig(
        pacing=Pacing.FLOW,
        routes=play.ROUTES,
        approvals=approvals,
        gates=(GateSpec(name="readme", argv=("test", "-f", "README.md")),),
        attempts=1,
        notify=ALL,
    )
    request = SessionRequest(
        session=make_id(),
        goal="append lines",
        repository=str(repository),
        config=config,
        plan=Plan(tasks=tuple(planned)),
    )
    return await stage.client.start_workflow(
        "SessionWorkflow",
        request,
        id=request.workflow_id,
        task_queue=queues.WORKFLOWS,
        result_type=SessionResult,
    )


class Told:
    """What the webhook and Apprise's target got about one session."""

    def __init__(self, receiver: Receiver, handle: Handle) -> None:
        self._receiver = receiver
        self._session = handle.id.removeprefix("session/")

    def by_id(self) -> dict[str, Post]:
        """Return the webhook's messages, each once; the same id is the same body."""
        found: dict[str, Post] = {}
        for post in self._receiver.to("/ops"):
            if post.headers["webhook-id"].startswith(f"{self._session}/"):
                assert found.setdefault(post.headers["webhook-id"], post).body == post.body
        return found

    def messages(self) -> list[tuple[str, list[str], list[str]]]:
        """Return kind, texts and commands of each message, in the order in which they were sent."""
        ordered = sorted(self.by_id().items(), key=lambda each: int(each[0].partition("/")[2]))
        return [
            (
                post.json["kind"],
                [item["text"] for item in post.json["items"]],
                [item["command"].replace(self._session, "S") for item in post.json["items"]],
            )
            for _, post in ordered
        ]

    def phone(self) -> list[str]:
        """Return what Apprise's target was told, each text once."""
        posts = [each.json for each in self._receiver.to("/phone")]
        mine = [each for each in posts if self._session in each["title"]]
        return list(dict.fromkeys(f"{each['title']}\n{each['message']}" for each in mine))

    async def until(self, *kinds: str) -> None:
        """Wait until messages of exactly these kinds have come to both targets."""

        def have_come() -> bool:
            told = sorted(kind for kind, _, _ in self.messages())
            return told == sorted(kinds) and len(self.phone()) == len(kinds)

        seen = lambda: (self.messages(), self.phone())  # noqa: E731
        await until(have_come, f"messages: {kinds}", LONG_PATIENCE, seen)


@asynccontextmanager
async def killed_at_each_message(made: MessageStage) -> AsyncGenerator[set[str]]:
    """Kill role `land` while it sends a message for the first time; yield the ids of those."""
    land, receiver, killed = made.running.actors[Role.LAND], made.receiver, set[str]()

    def kill(post: Post) -> None:
        if post.path == "/ops" and (name := post.headers["webhook-id"]) not in killed:
            killed.add(name)
            os.kill(land.child.pid, signal.SIGKILL)

    async def revive() -> None:
        while True:
            await land.child.wait()
            await made.restart()

    receiver.on_post = kill
    reviving = asyncio.create_task(revive())
    try:
        yield killed
    finally:
        receiver.on_post = lambda _: None
        reviving.cancel()


async def every_kind(stage: Stage, receiver: Receiver) -> Told:
    """Play a session that needs everything, and give it what it needs."""
    handle = await start(stage, "asks", "breaks", approvals=Approvals())
    told = Told(receiver, handle)
    await told.until("approval")
    await handle.signal("approve_plan", {"by": "t"})
    await told.until("approval", "question", "failed")
    # Less than the reviewer's first call may cost.
    await handle.signal("set_budget", {"usd": 0.001, "by": "t"})
    await handle.signal("answer", {"id": "asks", "text": "Half up.", "by": "t"})
    await told.until("approval", "question", "failed", "paused")
    await handle.signal("set_budget", {"usd": 5, "by": "t"})
    # The plan was told a moment ago: the changeset is told when a minute is over.
    await told.until("approval", "question", "failed", "paused", "approval")
    view = await handle.query("state", result_type=SessionView)
    digest = next(each.digest for each in view.changesets if each.digest)
    await handle.signal("approve_changeset", {"id": "asks", "digest": digest, "by": "t"})
    await handle.signal("skip_task", {"id": "breaks", "by": "t"})
    result = await ends(handle.result(), "the session ends", LONG_PATIENCE)
    assert result.outcome == "complete"
    await told.until("approval", "question", "failed", "paused", "approval", "done")
    return told


async def failing_end(stage: Stage, receiver: Receiver) -> Told:
    """Play a session whose key is refused once, and whose work is refused for good."""
    handle = await start(
        stage, "locked", approvals=Approvals(plan="auto", changeset="auto_if_green")
    )
    told = Told(receiver, handle)
    await told.until("paused")
    await handle.signal("resume", {"by": "t"})
    result = await ends(handle.result(), "the session ends", LONG_PATIENCE)
    assert result.outcome == "incomplete"
    await told.until("paused", "failed")
    return told


Message = tuple[str, list[str], list[str]]


def check(messages: Sequence[Message], wanted: Sequence[tuple[str, str, str]]) -> None:
    """Compare messages of one item each: kind, how the text begins, and the command."""
    found = [
        (kind, texts[0][: len(text)], commands)
        for (kind, texts, commands), (_, text, _) in zip(messages, wanted, strict=True)
    ]
    assert found == [(kind, text, [command]) for kind, text, command in wanted]


@pytest.mark.e2e
@pytest.mark.slow
@pytest.mark.timeout(1200)
async def test_every_kind_of_message_comes_once_although_its_sender_is_killed(
    tmp_path: Path,
) -> None:
    async with message_stage(tmp_path, playbook()) as made, killed_at_each_message(made) as killed:
        whole = await every_kind(made.running, made.receiver)
        failed = await failing_end(made.running, made.receiver)
    messages = sorted(whole.messages(), key=lambda each: each[0])
    digest = next(c for k, _, cs in messages if k == "approval" for c in cs if "digest" in c)
    digest = digest.split("--digest ")[1].split()[0]
    check(
        messages,
        [
            (
                "approval",
                "the plan waits for approval: 2 tasks",
                "blueflame approve plan --session S",
            ),
            (
                "approval",
                "changeset 'asks' waits for approval (tasks: asks)",
                f"blueflame approve asks --digest {digest} --session S",
            ),
            ("done", "the session ended as complete", "blueflame report S"),
            (
                "failed",
                "task 'breaks' failed: 1 attempt used",
                "blueflame retry breaks --session S",
            ),
            ("paused", "the session paused: ", "blueflame budget USD --session S"),
            ("question", "task 'asks' asks: Which rounding?", 'blueflame answer S asks "TEXT"'),
        ],
    )
    check(
        failed.messages(),
        [
            ("paused", "the session paused: ", "blueflame resume S"),
            ("failed", "the session ended as incomplete", "blueflame report S"),
        ],
    )
    assert killed == whole.by_id().keys() | failed.by_id().keys()
    for told in (whole, failed):
        check_pace(list(told.by_id().values()))


def check_pace(posts: Sequence[Post]) -> None:
    """At most one message of a kind about a session in a minute, by the times that they carry."""
    for kind in NotificationKind:
        times = sorted(
            datetime.fromisoformat(each.json["at"]) for each in posts if each.json["kind"] == kind
        )
        for earlier, later in pairwise(times):
            assert later - earlier >= timedelta(minutes=1)
