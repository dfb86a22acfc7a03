"""When too many errors hold a provider or a tool: the limits, at their edges."""

from datetime import UTC, datetime, timedelta

import pytest

from workflows.domain.error_count import CallCount, Counted, Hold
from workflows.domain.ids import AgentId
from workflows.errors import FailureType
from workflows.policy.agent import error_windows as policy
from workflows.policy.agent.error_windows import LEAST_CALLS, WINDOW, Windows

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
P, T = "provider a", "tool edit"


def report(
    calls: int, errors: int, subject: str = P, agent: str = "dev.a.1", resumed: tuple[str, ...] = ()
) -> Counted:
    counts = (CallCount(subject=subject, calls=calls, errors=errors),) if calls else ()
    return Counted(agent=AgentId(agent), workflow_id=f"w/{agent}", counts=counts, resumed=resumed)


def after(*reports: tuple[float, Counted], percent: int = 10) -> tuple[Windows, list[float]]:
    """Take reports, each so many seconds after noon; return the seconds at which one held."""
    windows: Windows = ()
    held: list[float] = []
    for seconds, each in reports:
        windows, fresh = policy.take(windows, each, percent, NOON + timedelta(seconds=seconds))
        held += [seconds for _ in fresh]
    return windows, held


@pytest.mark.parametrize(
    ("calls", "errors", "is_held"),
    [
        (LEAST_CALLS, 3, True),
        (LEAST_CALLS, 2, False),  # exactly the limit
        (LEAST_CALLS - 1, 19, False),  # too few calls
        (1_000, 100, False),
        (1_000, 101, True),
        (LEAST_CALLS, 0, False),
    ],
)
def test_above_the_limit_and_with_enough_calls(calls: int, errors: int, *, is_held: bool) -> None:
    assert after((0, report(calls, errors)))[1] == ([0] if is_held else [])


def test_nothing_is_held_at_a_limit_of_0() -> None:
    assert after((0, report(99, 99)), percent=0) == ((), [])


def test_calls_of_all_agents_in_the_window_count_and_older_ones_do_not() -> None:
    half = report(10, 2), report(10, 1, agent="dev.b.1")
    last = WINDOW.total_seconds()
    assert after((0, half[0]), (last - 1, half[1]))[1] == [last - 1]
    assert after((0, half[0]), (last, half[1]))[1] == []


def test_reports_in_a_few_seconds_are_one_sample() -> None:
    (window,), _ = after(*[(second, report(1, 0)) for second in range(10)])
    assert [each.calls for each in window.samples] == [5, 5]


@pytest.mark.parametrize(
    ("agents", "is_held"), [(("dev.a.1", "dev.a.1"), False), (("dev.a.1", "dev.b.1"), True)]
)
def test_a_tool_must_fail_to_two_agents(agents: tuple[str, ...], *, is_held: bool) -> None:
    both = [(at, report(20, 5, T, agent)) for at, agent in enumerate(agents)]
    assert after(*both)[1] == ([1] if is_held else [])


def test_it_is_held_for_the_window_and_tells_all_who_used_it() -> None:
    windows, _ = after((0, report(50, 0, agent="dev.b.1")), (1, report(50, 40)))
    (window,) = windows
    until = NOON + timedelta(seconds=1) + WINDOW
    assert window.held_until == until
    assert policy.users_of(window, AgentId("dev.a.1")) == ("w/dev.b.1",)
    late = NOON + WINDOW
    assert policy.held(windows, report(1, 1), late) == (Hold(subject=P, until=until),)
    assert policy.held(windows, report(1, 1), until) == ()
    assert policy.held(windows, report(1, 1, T), late) == ()
    text = policy.hold_text(window, "s1")
    assert text == (
        "provider a: 40 errors in 100 calls in 5 minutes, so the agents that need it wait until "
        "12:05 UTC; `blueflame resume s1` lets them go on now"
    )


def test_while_it_is_held_nothing_is_counted() -> None:
    before, _ = after((0, report(50, 40)))
    windows, held = after((0, report(50, 40)), (60, report(50, 40, agent="dev.b.1")))
    assert held == [0]
    assert windows[0].held_until == before[0].held_until
    assert windows[0].samples == ()
    assert policy.users_of(windows[0], AgentId("")) == ("w/dev.a.1", "w/dev.b.1")


def test_afterwards_the_first_error_holds_again_and_a_good_call_ends_that() -> None:
    over = WINDOW.total_seconds()
    assert after((0, report(50, 40)), (over, report(1, 1)))[1] == [0, over]
    assert after((0, report(50, 40)), (over, report(1, 0)), (over + 1, report(1, 1)))[1] == [0]
    much_later = 2 * over
    assert after((0, report(50, 40)), (much_later, report(1, 1)))[1] == [0]


def test_a_person_who_resumes_begins_a_new_count() -> None:
    windows, held = after((0, report(50, 40)), (10, report(1, 1, resumed=(P, "provider b"))))
    assert held == [0]
    assert windows[0].held_until is None
    assert [each.calls for each in windows[0].samples] == [1]


def test_ended_holds_begin_a_new_count_and_keep_the_users() -> None:
    windows, _ = after((0, report(50, 40)), (1, report(50, 0, "provider b")))
    ended = {each.subject: each for each in policy.without_holds(windows)}
    assert (ended[P].held_until, ended[P].samples) == (None, ())
    assert policy.users_of(ended[P], AgentId("")) == ("w/dev.a.1",)
    assert ended["provider b"] == windows[1]


@pytest.mark.parametrize(
    ("since", "errors"), [(None, 3), (-1, 0), (0, 0), (1, 3)], ids=["unknown", "old", "at", "new"]
)
def test_errors_of_calls_from_before_a_resume_do_not_count(since: int | None, errors: int) -> None:
    began = None if since is None else NOON + timedelta(seconds=since)
    seen = policy.since_resumed(report(4, 3).model_copy(update={"since": began}), NOON)
    assert [(each.calls, each.errors) for each in seen.counts] == [(4, errors)]


def test_a_hold_from_before_a_resume_is_ended() -> None:
    hold = Hold(subject=P, until=NOON + WINDOW)
    assert policy.is_ended(hold, NOON)
    assert not policy.is_ended(hold, NOON - timedelta(seconds=1))
    assert not policy.is_ended(hold, None)


def test_no_more_users_are_kept_than_work_at_once() -> None:
    (window,), _ = after(*[(0, report(1, 0, agent=f"dev.t.{n}")) for n in range(500)])
    assert len(window.users) == 128
    assert list(window.users)[-1] == "dev.t.499"


@pytest.mark.parametrize("failure", FailureType)
def test_what_counts_as_an_error_of_a_provider(failure: FailureType) -> None:
    expected = {"OutcomeUnknown", "ProviderUnavailable", "WaitTooLong"}
    assert policy.is_providers_error(failure) == (failure in expected)


def test_an_agent_waits_for_its_own_provider_and_for_tools() -> None:
    a, b, tool = (
        Hold(subject=subject, until=NOON + timedelta(minutes=number))
        for number, subject in enumerate((policy.provider_subject("a"), "provider b", T), 1)
    )
    assert policy.current((a, b), a.until) == (b,)
    assert policy.with_hold((a, b), Hold(subject=P, until=b.until))[0] == b
    assert policy.held_providers((a, b, tool)) == ("a/*", "b/*")
    assert policy.applying((a, b), "a") == a
    assert policy.applying((b,), "a") is None
    assert policy.applying((a, tool), "a") == tool
    assert policy.tool_subject("edit") == T
