"""Which pull requests a session wants: one of the whole, or a stack."""

from datetime import UTC, datetime
from decimal import Decimal

from tests.unit.policy.examples import a_plan, a_task
from workflows.domain.ids import ChangesetId, Commit, SessionId
from workflows.domain.pull_request import MergedWork, PullRequest, PullState
from workflows.domain.session.session_config import PullRequestConfig, Routes, SessionConfig
from workflows.domain.session.session_start import SessionRequest
from workflows.domain.session.session_state import SessionState
from workflows.policy.delivery.wanted_pulls import wanted_pulls
from workflows.policy.session.scheduling import adopt

ROUTES = Routes(planner=("scripted/a",), developer=("scripted/a",), reviewer=("scripted/b",))
CONFIG = SessionConfig(
    routes=ROUTES,
    deliver="pull_request",
    pull_request=PullRequestConfig(per="changeset", target="main"),
)
REQUEST = SessionRequest(session=SessionId("s"), goal="g", repository="/r", config=CONFIG)


def state(*merged: str, delivered: str) -> SessionState:
    empty = SessionState(started_at=datetime(2026, 1, 1, tzinfo=UTC), cap_usd=Decimal(1))
    works = tuple(
        MergedWork(changeset=ChangesetId(name), head=Commit(f"{name}{number}"))
        for number, name in enumerate(merged)
    )
    return adopt(empty, a_plan(a_task("a"), a_task("b")), CONFIG).evolve(
        merged=works, delivered=Commit(delivered), branch="blueflame/s"
    )


def shown(of: SessionState) -> list[tuple[str, str, str, str]]:
    pulls = wanted_pulls(REQUEST, of).pulls
    return [(each.key, each.commit, each.branch, each.target) for each in pulls]


def test_each_of_a_stack_is_on_the_one_below():
    assert shown(state("b", "a", delivered="a1")) == [
        ("b", "b0", "blueflame/s-b", "main"),
        ("a", "a1", "blueflame/s-a", "blueflame/s-b"),
    ]


def test_only_what_the_repository_has_is_proposed():
    assert [each[0] for each in shown(state("b", "a", delivered="b0"))] == ["b"]


def test_a_changeset_that_is_merged_again_is_another_layer():
    assert [each[0] for each in shown(state("a", "b", "a", delivered="a2"))] == ["a", "b", "a-2"]


def test_above_one_that_was_merged_there_the_next_goes_where_it_went():
    merged = PullRequest(
        key="b",
        branch="blueflame/s-b",
        target="main",
        number=1,
        url="u",
        state=PullState.MERGED,
        pushed=Commit("b0"),
    )
    after = state("b", "a", delivered="a1").evolve(pulls=(merged,))
    assert [each[3] for each in shown(after)] == ["main", "main"]
