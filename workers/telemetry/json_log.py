"""The log as JSON: one object per line, with the session and the work that it is about.

| key                                          | value                                             |
|----------------------------------------------|---------------------------------------------------|
| `schema_version`, `at`, `level`, `logger`    | 1, the time in UTC, `warning`, the module         |
| `message`, `exception`                       | without text that looks like a secret             |
| `session`, `workflow`, `trace_id`, `span_id` | if it is about a session; as in `trace`           |
| `agent`, `task`, `attempt`                   | if it is about an agent, and its task             |
| `turn`                                       | if an activity of an agent's turn says it         |
| `activity`, `activity_attempt`               | if an activity says it, or it is about one        |
| `event`, `fields`                            | of Blue Flame's own lines; docs/events.md         |
"""

import json
import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from temporalio import activity

from activities.text.foreign_json import is_table
from workers.telemetry.current_turn import current_turn
from workers.telemetry.traces.trace_ids import span_of, trace_of
from workflows.policy.text.log_events import SCHEMA_VERSION
from workflows.policy.text.secret_patterns import without_secrets

_OF_TASKS: Final = ("dev", "review")


class JsonLines(logging.Formatter):
    """Writes each record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line: dict[str, object] = {
            "schema_version": SCHEMA_VERSION,
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": without_secrets(record.getMessage()),
            **_about(record),
            **_event(record),
        }
        if record.exc_info:
            line["exception"] = without_secrets(self.formatException(record.exc_info))
        return json.dumps(line, default=str)


def _event(record: logging.LogRecord) -> dict[str, object]:
    event: object = getattr(record, "event", None)
    fields: object = getattr(record, "event_fields", None)
    if event is None or not is_table(fields):
        return {}
    clean = {
        name: without_secrets(value) if isinstance(value, str) else value
        for name, value in fields.items()
    }
    return {"event": event, "fields": clean}


def _about(record: logging.LogRecord) -> dict[str, object]:
    """Return the ids of what a record is about: the SDK's own facts, or the running activity's."""
    for name in ("temporal_activity", "temporal_workflow"):
        facts: object = getattr(record, name, None)
        if is_table(facts):
            return _turn() | _ids(facts)
    if not activity.in_activity():
        return {}
    info = activity.info()
    return _turn() | _ids(
        {
            "workflow_id": info.workflow_id,
            "activity_type": info.activity_type,
            "attempt": info.attempt,
        }
    )


def _turn() -> dict[str, object]:
    turn = current_turn()
    return {} if turn is None else {"turn": turn}


def _ids(facts: Mapping[str, object]) -> dict[str, object]:
    workflow = str(facts.get("workflow_id") or "")
    found: dict[str, object] = {}
    root, _, rest = workflow.partition("/")
    if root == "session" and rest:
        session = rest.partition("/")[0]
        found = {
            "session": session,
            "workflow": workflow,
            "trace_id": trace_of(session),
            "span_id": span_of(workflow),
            **_agent(workflow.rpartition("/")[2]),
        }
    if "activity_type" in facts:
        found |= {"activity": facts["activity_type"], "activity_attempt": facts.get("attempt")}
    return found


def _agent(name: str) -> dict[str, object]:
    """Read an agent's id: `dev.TASK.ATTEMPT`, `review.TASK.ATTEMPT.NUMBER`, `plan.NUMBER`."""
    kind, *parts = name.split(".")
    if kind == "plan" and len(parts) == 1:
        return {"agent": name}
    numbers = 2 if kind == "review" else 1
    task, last = parts[:-numbers], parts[-numbers:]
    if kind not in _OF_TASKS or not task or not last[0].isdecimal():
        return {}
    return {"agent": name, "task": ".".join(task), "attempt": int(last[0])}
