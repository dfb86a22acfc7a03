"""An older build reads what a newer release's activities answer, and nothing else loosely."""

import json

import pytest
from pydantic import ValidationError
from temporalio.api.common.v1 import Payload

from tests.all_contracts import CONTRACTS
from workers.temporal.tolerant_outcomes import TolerantPayloadConverter, outcomes
from workflows.contracts.host_contracts import (
    FINISH_TASK,
    LAST_CHECKPOINT,
    LastCheckpoint,
    RecordedCheckpoint,
    TaskCommitted,
    WorkRefused,
)
from workflows.domain.ids import Commit
from workflows.domain.session.session_start import SessionRequest

COMMITTED = {"commit": "1" * 40, "tree": "2" * 40, "paths": ["a"], "ignored": []}


def payload(content: object) -> Payload:
    return Payload(metadata={"encoding": b"json/plain"}, data=json.dumps(content).encode())


def test_every_outcome_is_read_tolerantly() -> None:
    assert len(outcomes()) == len(CONTRACTS)
    assert all(each.outcome in outcomes() for each in CONTRACTS)


def test_a_field_that_a_newer_release_added_is_left_out() -> None:
    content = payload({"checkpoint": "1" * 40, "new": {"x": 1}})
    read = TolerantPayloadConverter().from_payload(content, LAST_CHECKPOINT.outcome)
    assert read == RecordedCheckpoint(checkpoint=Commit("1" * 40))


def test_unknown_fields_inside_of_members_and_lists_are_left_out() -> None:
    read = TolerantPayloadConverter().from_payload
    committed = read(payload({"kind": "committed", **COMMITTED, "new": 1}), FINISH_TASK.outcome)
    assert isinstance(committed, TaskCommitted)
    assert committed.paths == ("a",)
    finding = {"rule": "empty", "text": "nothing", "new": 1}
    content = {"kind": "refused", "reason": "empty", "findings": [finding, finding]}
    refused = read(payload(content), FINISH_TASK.outcome)
    assert isinstance(refused, WorkRefused)
    assert [each.text for each in refused.findings] == ["nothing", "nothing"]


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ({"worktree": {}, "new": 1}, LastCheckpoint),
        ({"new": 1}, SessionRequest),
        ({"new": 1}, LAST_CHECKPOINT.outcome),
        ({"checkpoint": 5, "new": 1}, LAST_CHECKPOINT.outcome),
        ({"kind": "new", **COMMITTED}, FINISH_TASK.outcome),
    ],
)
def test_all_else_is_read_strictly(content: object, kind: type) -> None:
    with pytest.raises(ValidationError):
        TolerantPayloadConverter().from_payload(payload(content), kind)
