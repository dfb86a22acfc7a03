"""`starter.machine.cleaning.cleanup_request`: what of a session still runs after its end."""

from typing import NamedTuple

import pytest

from starter.machine.cleaning.cleanup_request import left_behind, reporting


class Listed(NamedTuple):
    """A workflow that runs."""

    id: str
    workflow_type: str


KEPT = [
    Listed("session/a/ledger", "SessionLedger"),
    Listed("session/a/notifier", "SessionNotifier"),
    Listed("session/a/pulls", "PullRequests"),
]


def test_what_serves_a_session_that_is_gone_is_ended_with_it() -> None:
    assert left_behind(KEPT) == {each.id for each in KEPT}


@pytest.mark.parametrize("kind", ["SessionWorkflow", "DevelopWave", "AgentWorkflow"])
def test_it_stays_while_anything_else_of_the_session_runs(kind: str) -> None:
    others = [Listed("session/a", kind), Listed("session/b/pulls", "PullRequests")]
    assert left_behind([*KEPT, *others]) == {"session/b/pulls"}


def test_only_an_ended_session_whose_report_is_still_written_is_called_so() -> None:
    running = [Listed(f"session/{each}/report", "SessionReport") for each in "abc"]
    running += [Listed("session/a", "SessionWorkflow"), Listed("session/b/pulls", "PullRequests")]
    assert reporting(running, {"b", "c", "d"}) == {"c"}
