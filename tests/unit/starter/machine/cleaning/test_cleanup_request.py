"""`starter.machine.cleaning.cleanup_request`: what of a session still runs after its end."""

from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from temporalio.client import WorkflowExecutionStatus
from temporalio.service import RPCError, RPCStatusCode

from starter.machine.cleaning.cleanup_request import left_behind, really_left, reporting


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


class Server:
    """Knows some sessions, and has forgotten all others."""

    known: dict[str, WorkflowExecutionStatus] = {  # noqa: RUF012 (a stand-in)
        "session/a": WorkflowExecutionStatus.RUNNING,
        "session/b": WorkflowExecutionStatus.TERMINATED,
    }

    def get_workflow_handle(self, workflow: str) -> Any:
        async def describe() -> Any:
            if workflow not in self.known:
                raise RPCError("workflow not found", RPCStatusCode.NOT_FOUND, b"")
            return SimpleNamespace(status=self.known[workflow])

        return SimpleNamespace(describe=describe)


async def test_a_session_that_the_list_lacks_keeps_its_ledger() -> None:
    """As between two runs of a session that continues as new."""
    server: Any = Server()
    ledgers = [f"session/{each}/ledger" for each in "abc"]
    assert await really_left(server, ledgers) == {"session/b/ledger", "session/c/ledger"}


def test_only_an_ended_session_whose_report_is_still_written_is_called_so() -> None:
    running = [Listed(f"session/{each}/report", "SessionReport") for each in "abc"]
    running += [Listed("session/a", "SessionWorkflow"), Listed("session/b/pulls", "PullRequests")]
    assert reporting(running, {"b", "c", "d"}) == {"c"}
