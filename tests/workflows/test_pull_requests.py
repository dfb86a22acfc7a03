"""A session that proposes its work on a hosting service."""

import asyncio
from datetime import timedelta
from functools import partial

import pytest

from tests.fakes.hosting_world import HostingWorld
from tests.fakes.world import Hold, World, name_of, planned
from tests.theatre import Theatre, played, states
from tests.waiting import ends
from workflows.contracts.hosting_contracts import PublishOutcome, PublishPull, PullRefused
from workflows.contracts.land_contracts import DeliverBranch, Delivered, DeliveryOutcome
from workflows.contracts.model_contracts import CallModel
from workflows.domain.evolution import evolve
from workflows.domain.ids import Commit
from workflows.domain.pull_request import PullRequest, PullState, Remark
from workflows.domain.session.notice import NoticeKind
from workflows.domain.session.query_answers import SessionView
from workflows.domain.session.session_config import PullRequestConfig

pytestmark = pytest.mark.asyncio(loop_scope="session")


def _shown(world: World) -> list[tuple[str, bool, bool]]:
    return [
        (each.pull.key, each.pull.is_draft, each.pull.is_closed) for each in world.hosting.published
    ]


@pytest.mark.slow
async def test_it_is_a_draft_until_every_task_is_merged(theatre: Theatre):
    world = World(planned({"id": "a"}, {"id": "b", "depends_on": ["a"]}))
    result = await played(theatre, world, deliver="pull_request")
    assert result.outcome == "complete"
    assert "https://hosting.example/session" in result.reason
    assert [(each.number, each.state) for each in result.pulls] == [(1, "open")]
    assert _shown(world) == [("session", True, False), ("session", False, False)]
    last = world.hosting.published[-1]
    assert last.pull.commit == result.head
    assert (last.pull.branch, last.pull.target) == (result.branch, "main")
    assert last.pushed == world.hosting.published[0].pull.commit


@pytest.mark.slow
async def test_it_tells_goal_criteria_gates_and_verdicts(theatre: Theatre):
    world = World(planned({"id": "a", "title": "Ping @everyone"}))
    await played(theatre, world, deliver="pull_request")
    body = world.hosting.published[-1].pull.body
    assert "> a goal" in body
    assert "- [x] it works" in body
    assert "Gates: `tests` found nothing new" in body
    assert "approved by scripted/beta" in body
    assert "@everyone" not in body


async def test_a_stopped_session_closes_it(theatre: Theatre):
    world = World(planned({"id": "a"}, {"id": "b", "depends_on": ["a"]}))
    hold = Hold(lambda call: call.agent == "dev.b.1")
    world.on_call = hold
    async with theatre.session(world, deliver="pull_request") as session:
        await hold.arrived()
        await session.say("stop")
        result = await session.result()
    assert result.outcome == "stopped"
    assert _shown(world)[-1] == ("session", True, True)


async def test_what_cannot_be_published_leaves_the_session_incomplete(theatre: Theatre):
    world = World(planned({"id": "a"}))
    world.hosting.instead = lambda _: PullRefused(reason="there is no token for 'github.com'")
    async with theatre.session(world, deliver="pull_request") as session:
        result = await session.result()
        notices = (await session.view()).notices
    assert (result.outcome, states(result)) == ("incomplete", {"a": ("merged", 1)})
    assert "there is no token for 'github.com'" in result.reason
    assert [each.kind for each in notices if "token" in each.text] == [NoticeKind.DELIVERY]


@pytest.mark.slow
async def test_a_refusal_that_passes_does_not_spoil_the_end(theatre: Theatre):
    world = World(planned({"id": "a"}, {"id": "b", "depends_on": ["a"]}))

    def once(request: PublishPull) -> PublishOutcome | None:
        return (
            PullRefused(reason="the token is revoked")
            if len(world.hosting.published) == 1
            else None
        )

    world.hosting.instead = once
    result = await played(theatre, world, deliver="pull_request")
    assert result.outcome == "complete"


@pytest.mark.slow
async def test_nothing_is_published_while_nothing_is_merged(theatre: Theatre):
    world = World(planned({"id": "a"}))

    def refuse(call: CallModel) -> None:
        assert not world.hosting.published, call.agent

    world.on_call = refuse
    await played(theatre, world, deliver="pull_request")
    assert len(world.hosting.published) == 1


@pytest.mark.slow
async def test_a_stack_has_one_for_each_changeset_on_the_one_below(theatre: Theatre):
    world = World(planned({"id": "a"}, {"id": "b", "depends_on": ["a"]}))
    stack = PullRequestConfig(per="changeset")
    result = await played(theatre, world, deliver="pull_request", pull_request=stack)
    assert result.outcome == "complete"
    below, above = {each.pull.key: each.pull for each in world.hosting.published}.values()
    assert (below.target, above.target) == ("main", below.branch)
    assert (below.branch, above.branch) == (f"{result.branch}-a", f"{result.branch}-b")
    assert (below.title, above.title) == ("Task a", "Task b")
    assert above.commit == result.head != below.commit
    assert not below.is_draft


async def test_a_stop_closes_a_stack_although_one_of_it_cannot_be_closed(theatre: Theatre):
    world = World(planned({"id": "a"}, {"id": "b"}, {"id": "c", "depends_on": ["a", "b"]}))
    world.on_call = hold = Hold(lambda call: call.agent == "dev.c.1")
    world.hosting.instead = lambda asked: (
        PullRefused(reason="the token may not do this")
        if asked.pull.is_closed and asked.pull.key == "a"
        else None
    )
    stack = PullRequestConfig(per="changeset")
    async with theatre.session(world, deliver="pull_request", pull_request=stack) as session:
        await hold.arrived()
        await session.say("stop")
        result = await session.result()
        notices = (await session.view()).notices
    assert result.outcome == "stopped"
    closed = {each.pull.key for each in world.hosting.published if each.pull.is_closed}
    assert closed == {"a", "b"}
    assert "the token may not do this" in [each.text for each in notices]


def _twin(commit: Commit) -> Commit:
    return Commit(name_of(f"signed {commit}"))


class Signing(World):
    """A person's repository whose branch holds signed twins of the session's commits."""

    async def deliver(self, request: DeliverBranch) -> DeliveryOutcome:
        delivered = await super().deliver(request)
        assert isinstance(delivered, Delivered)
        twins = {each: _twin(each) for each in (*request.heads, request.new)}
        notice = "one commit has no signature" if len(self.delivered) == 1 else ""
        return evolve(delivered, {"commits": twins, "notice": notice})


@pytest.mark.slow
async def test_where_the_branch_is_rewritten_its_own_commits_are_proposed(theatre: Theatre):
    world = Signing(planned({"id": "a"}, {"id": "b", "depends_on": ["a"]}))
    stack = PullRequestConfig(per="changeset")
    async with theatre.session(world, deliver="pull_request", pull_request=stack) as session:
        result = await session.result()
        notices = (await session.view()).notices
    first, second = world.delivered
    assert (first.old, first.source, first.since) == (None, None, name_of("base"))
    assert (second.old, second.source) == (_twin(first.new), first.new)
    proposed = {each.pull.key: each.pull.commit for each in world.hosting.published}
    assert proposed == {"a": _twin(first.new), "b": _twin(second.new)}
    assert result.head == second.new
    assert "one commit has no signature" in [each.text for each in notices]


def _tells(words: str, seen: SessionView) -> bool:
    return any(words in each.text for each in seen.notices)


REVIEW = Remark(kind="review", id="7", by="ann", text="Use Decimal.", path="src/a/x.py", line=3)
FOLLOWED = PullRequestConfig(poll=timedelta(milliseconds=50), follow=timedelta(hours=1))


class Reviewed(HostingWorld):
    """A reviewer asks for a change of the first finished work, and merges the second."""

    def __init__(self, session: str = "session") -> None:
        super().__init__()
        self.key = session
        self.seen = self.show

    def show(self, pull: PullRequest) -> PullRequest:
        wanted = [each.pull for each in self.published if not each.pull.is_draft]
        commits = {each.commit for each in wanted}
        if len(commits) > 1:
            return pull.evolve(state=PullState.MERGED, remarks=())
        return pull.evolve(remarks=(REVIEW,) if commits else ())


async def test_a_person_lets_one_attempt_at_a_requested_change_start(theatre: Theatre):
    world = World(planned({"id": "a"}))
    world.hosting = Reviewed()
    proposing = theatre.session(world, deliver="pull_request", pull_request=FOLLOWED)
    async with proposing as session:
        view = await session.until(partial(_tells, "ann"))
        assert [each.id for each in view.tasks] == ["a"]
        assert "follows the pull requests #1" in view.reason
        await session.say("rework", {"by": "p"})
        result = await session.result()
    assert states(result) == {"a": ("merged", 1), "rework-1": ("merged", 1)}
    assert result.outcome == "complete"
    opening = world.heard("dev.rework-1.1", 1)
    assert "Use Decimal." in opening
    assert "src/a/x.py:3" in opening
    assert world.hosting.published[-1].pull.commit == result.head
    assert {each.pull.branch for each in world.hosting.published} == {result.branch}


@pytest.mark.slow
async def test_a_rule_starts_no_more_reworks_than_allowed(theatre: Theatre):
    world = World(planned({"id": "a"}))
    answers = iter(range(100))

    def always_more(pull: PullRequest) -> PullRequest:
        asked = evolve(REVIEW, {"id": str(len({p.pull.commit for p in world.hosting.published}))})
        is_late = next(answers) > 40
        state = PullState.MERGED if is_late else pull.state
        return pull.evolve(state=state, remarks=() if pull.state is PullState.DRAFT else (asked,))

    world.hosting.seen = always_more
    rule = evolve(FOLLOWED, {"feedback": "auto", "rounds": 1})
    proposing = theatre.session(world, deliver="pull_request", pull_request=rule)
    async with proposing as session:
        await session.until(partial(_tells, "no rework is left"))
        await session.say("rework", {"by": "p"})
        view = await session.until(partial(_tells, "the most that"))
        await session.say("stop")
        await session.result()
    assert [each.id for each in view.tasks] == ["a", "rework-1"]
    assert next(each.by for each in view.decisions if each.what == "rework") == "rule auto"


@pytest.mark.slow
async def test_following_ends_with_the_time(theatre: Theatre):
    world = World(planned({"id": "a"}))
    short = evolve(FOLLOWED, {"follow": timedelta(milliseconds=300)})
    result = await played(theatre, world, deliver="pull_request", pull_request=short)
    assert result.outcome == "complete"
    assert world.hosting.looked


async def test_a_refused_look_is_told_once_until_one_succeeds(theatre: Theatre):
    world = World(planned({"id": "a"}))
    refusals = [*["there is no token"] * 3, "", *["there is no token"] * 2]
    world.hosting.refusals = refusals
    world.hosting.seen = lambda pull: pull if refusals else pull.evolve(state=PullState.MERGED)
    proposing = theatre.session(world, deliver="pull_request", pull_request=FOLLOWED)
    async with proposing as session:
        result = await session.result()
        notices = (await session.view()).notices
    assert result.outcome == "complete"
    (told,) = [each for each in notices if "there is no token" in each.text]
    assert (told.kind, told.count) == (NoticeKind.DELIVERY, 2)
    assert told.text == "checks and reviews of the pull request are not seen: there is no token"


class SlowToClose(HostingWorld):
    """A service that does not answer when a pull request is to be closed, until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()
        self.answer = asyncio.Event()

    async def publish(self, request: PublishPull) -> PublishOutcome:
        if request.pull.is_closed:
            self.asked.set()
            await self.answer.wait()
        return await super().publish(request)


LATE = "signal {!r} came when the session was ending already: it changed nothing"


@pytest.mark.slow
async def test_a_cancellation_while_it_is_closed_ends_the_stopped_session(theatre: Theatre):
    world = World(planned({"id": "a"}, {"id": "b", "depends_on": ["a"]}))
    world.on_call = hold = Hold(lambda call: call.agent == "dev.b.1")
    world.hosting = service = SlowToClose()
    async with theatre.session(world, deliver="pull_request") as session:
        await hold.arrived()
        await session.say("stop")
        await ends(service.asked.wait(), "the pull request is to be closed")
        await session.say("message_lost", {"text": "mail: no such host"})
        await session.say("skip", {"task": "b"})
        await session.handle.cancel()
        result = await session.result()
        notices = (await session.view()).notices
        service.answer.set()
    assert result.outcome == "stopped"
    assert [(each.kind, each.text) for each in notices] == [
        (NoticeKind.DELIVERY, "the pull requests were not closed in time; look at them yourself"),
        (NoticeKind.NOTIFICATION, "mail: no such host"),
        (NoticeKind.NOT_POSSIBLE, LATE.format("skip")),
    ]
