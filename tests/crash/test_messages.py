"""Kill the worker that sends messages, before and after a target took one: each arrives, once."""

import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

from tests.crash import kills, play
from tests.crash.kills import Handle, Watch
from tests.crash.message_stage import MessageStage, message_stage
from tests.crash.stage import Stage
from tests.receiver import Post, Receiver
from tests.waiting import LONG_PATIENCE, ends, until
from workers.roles import Role
from workflows.domain.session.notification import NotificationKind
from workflows.domain.session.session_config import Approvals

SMALL = play.playbook({"left": ()}, turns=1)
ASK: Final = Approvals(plan="ask", changeset="auto_if_green")


def kinds(posts: Sequence[Post]) -> list[str]:
    """Return the kinds of different messages of a webhook; the same id is the same body."""
    by_id: dict[str, Post] = {}
    for post in posts:
        first = by_id.setdefault(post.headers["webhook-id"], post)
        assert first.body == post.body
    return [post.json["kind"] for post in by_id.values()]


@pytest.mark.e2e
@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_a_message_that_was_on_its_way_at_a_kill_is_neither_lost_nor_told_twice(
    tmp_path: Path,
) -> None:
    async with message_stage(tmp_path, SMALL) as made:
        receiver = made.receiver

        async def disturb(stage: Stage, watch: Watch, handle: Handle) -> None:
            await _killed_twice(made)
            await _arrive(receiver, ["approval"])
            await handle.signal("approve_plan", {"by": "somebody"})
            await ends(handle.result(), "the session ends", LONG_PATIENCE)
            await _arrive(receiver, ["approval", "done"])

        notify = tuple(NotificationKind)
        course = await kills.run(made.running, "told", disturb, approvals=ASK, notify=notify)
    assert course.outcome == "complete"
    assert len(receiver.to("/ops")) == 4  # two were cut off by the kills, and have a known id
    titles = [post.json["title"].split(": ")[1] for post in receiver.to("/phone")]
    assert list(dict.fromkeys(titles)) == ["approval needed", "done"]


async def _killed_twice(made: MessageStage) -> None:
    """Kill the worker while a message is on its way, and again after a target took one."""
    land, receiver = made.running.actors[Role.LAND], made.receiver

    def kill(post: Post) -> None:
        if post.path == "/ops":
            receiver.on_post = lambda _: None
            os.kill(land.child.pid, signal.SIGKILL)

    receiver.on_post = kill
    await land.died()
    await made.restart(BLUEFLAME_FAIL_POINT="after-notify")
    await land.died()
    await made.restart()


async def _arrive(receiver: Receiver, awaited: Sequence[str]) -> None:
    def have_come() -> bool:
        phone = {post.json["title"] for post in receiver.to("/phone")}
        return kinds(receiver.to("/ops")) == awaited and len(phone) == len(awaited)

    seen = lambda: [(post.path, post.headers) for post in receiver.posts]  # noqa: E731
    await until(have_come, f"the messages {awaited}", LONG_PATIENCE, seen)
