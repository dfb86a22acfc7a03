"""The log as JSON: whom a line is about, in every way in which that is known."""

import dataclasses
import io
import json
import logging
from collections.abc import Generator
from typing import Any

import pytest
from temporalio import activity
from temporalio.testing import ActivityEnvironment
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput

from workers.telemetry.current_turn import TurnInterceptor
from workers.telemetry.json_log import JsonLines
from workers.telemetry.traces.trace_ids import span_of, trace_of
from workers.worker_log import write_log_to
from workflows.contracts.model_contracts import CallModel
from workflows.policy.text.log_events import log_event

DEVELOPER = "session/s1/2/develop/dev.tax.rate.3"


@pytest.fixture
def written() -> Generator[io.StringIO]:
    """What the root logger writes."""
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    root.handlers[:] = []
    stream = io.StringIO()
    write_log_to(stream, JsonLines())
    yield stream
    root.handlers[:] = before
    root.setLevel(level)


def last(written: io.StringIO) -> dict[str, Any]:
    return json.loads(written.getvalue().splitlines()[-1])


def test_a_line_about_no_session(written: io.StringIO) -> None:
    logging.getLogger("workers.x").warning("%d things\nhappened", 2)
    line = last(written)
    assert line.pop("at").endswith("+00:00")
    assert line == {
        "schema_version": 1,
        "level": "warning",
        "logger": "workers.x",
        "message": "2 things\nhappened",
    }


@pytest.mark.parametrize(
    ("workflow", "expected"),
    [
        ("session/s1", {}),
        ("session/s1/plan/1/plan.1", {"agent": "plan.1"}),
        (DEVELOPER, {"agent": "dev.tax.rate.3", "task": "tax.rate", "attempt": 3}),
        (
            "session/s1/2/validate/review.tax.3.1",
            {"agent": "review.tax.3.1", "task": "tax", "attempt": 3},
        ),
        ("session/s1/2/develop", {}),
    ],
)
def test_a_workflow_is_known_by_its_id(
    written: io.StringIO, workflow: str, expected: dict[str, object]
) -> None:
    facts = {"workflow_id": workflow, "attempt": 1}
    logging.getLogger("w").info("hello", extra={"temporal_workflow": facts})
    line = last(written)
    common = {"schema_version", "at", "level", "logger", "message"}
    assert {key: value for key, value in line.items() if key not in common} == {
        "session": "s1",
        "workflow": workflow,
        "trace_id": trace_of("s1"),
        "span_id": span_of(workflow),
        **expected,
    }


async def test_what_an_activity_says_names_it(written: io.StringIO) -> None:
    @activity.defn(name="tools.run")
    async def act() -> None:
        logging.getLogger("anything").warning("from within")

    environment = ActivityEnvironment()
    environment.info = dataclasses.replace(
        environment.info, workflow_id=DEVELOPER, activity_type="tools.run", attempt=2
    )
    await environment.run(act)
    line = last(written)
    assert (line["activity"], line["activity_attempt"]) == ("tools.run", 2)
    assert (line["task"], line["attempt"]) == ("tax.rate", 3)


async def test_a_line_of_a_turn_says_which_and_has_its_event(written: io.StringIO) -> None:
    class Last(ActivityInboundInterceptor):
        def __init__(self) -> None:
            """Stand in for the SDK's own."""

        async def execute_activity(self, input: ExecuteActivityInput) -> object:  # noqa: A002 (the SDK's name)
            log_event(logging.getLogger("w"), "usage_missing", model="m")
            return None

    @activity.defn(name="models.call")
    async def act() -> None:
        call = CallModel.model_construct(turn=7)
        asked = ExecuteActivityInput(fn=act, args=[call], executor=None, headers={})
        await TurnInterceptor().intercept_activity(Last()).execute_activity(asked)
        logging.getLogger("w").warning("after the call")

    await ActivityEnvironment().run(act)
    during, after = map(json.loads, written.getvalue().splitlines())
    assert during["turn"] == 7
    assert (during["event"], during["fields"]) == ("usage_missing", {"model": "m"})
    assert "turn" not in after
    assert "event" not in after


def test_secrets_are_left_out_of_messages_and_tracebacks(written: io.StringIO) -> None:
    key = "sk-ant-" + "api03-" + "a1B2c3D4" * 6
    try:
        int(key)
    except ValueError:
        logging.getLogger("w").exception("failed with %s", key)
    line = last(written)
    assert "ValueError" in line["exception"]
    assert key not in written.getvalue()
