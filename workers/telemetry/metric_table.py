"""Every metric that Blue Flame records: the one table of names, kinds, units, labels and meanings.

No label is unbounded. Most have a closed set of values; the names that a person configures (models,
providers, hosts) are kept up to a number of different ones. Whatever else comes is `other`.
`docs/monitoring.md` says when each is counted.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, Literal, NamedTuple, get_args

from workflows.domain.agent.model_values import Role
from workflows.domain.agent.tool_policy import ToolName
from workflows.domain.changeset import ChangesetState
from workflows.domain.session.session_modes import SessionPhase
from workflows.domain.task import TaskState
from workflows.errors import FailureType
from workflows.policy.agent.turn_decisions import SUBMITTING

Kind = Literal["counter", "histogram", "gauge"]

OTHER: Final = "other"

_SECONDS: Final = (0.1, 0.5, 1, 5, 15, 30, 60, 180, 600, 1_800)
_CALL_SECONDS: Final = (0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300)
_SHARES: Final = (0.25, 0.5, 0.7, 0.8, 0.9, 0.95, 1)


class Metric(NamedTuple):
    """One metric."""

    name: str
    """As Prometheus shows it."""
    kind: Kind
    unit: str
    """In UCUM, as OpenTelemetry asks for; braces: what is counted."""
    meaning: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()
    """Upper bounds, of a histogram."""
    is_replaced: bool = False
    """Of a gauge: each look replaces all of its series, so none outlives what it measures."""


METRICS: Final = (
    # Models: from the outcome of each activity `models.call`.
    Metric(
        "llm_tokens_total",
        "counter",
        "{token}",
        "Tokens of answered model calls.",
        ("model", "role", "type"),
    ),
    Metric(
        "llm_cost_usd_total", "counter", "{USD}", "Cost of answered model calls.", ("model", "role")
    ),
    Metric(
        "llm_calls_total",
        "counter",
        "{call}",
        "Attempts at model calls, by how they ended.",
        ("provider", "role", "outcome"),
    ),
    Metric(
        "llm_time_to_first_token_seconds",
        "histogram",
        "s",
        "Time from sending a model call to the first content of its answer.",
        ("provider",),
        _CALL_SECONDS,
    ),
    Metric(
        "llm_parked_seconds",
        "histogram",
        "s",
        "How long a provider asked to wait before a call is tried again.",
        ("provider",),
        (1, 5, 15, 60, 300, 1_800, 7_200, 86_400),
    ),
    Metric(
        "api_rate_limit_remaining",
        "gauge",
        "{unit}",
        "What the provider says is left of its rate limit.",
        ("provider", "kind"),
    ),
    Metric(
        "context_saturation_ratio",
        "histogram",
        "1",
        "Share of the model's window that a call and its answer filled.",
        ("role",),
        _SHARES,
    ),
    # Agents and their tools.
    Metric(
        "agent_latency_seconds",
        "histogram",
        "s",
        "Time of one step of an agent's turn.",
        ("role", "step"),
        _CALL_SECONDS,
    ),
    Metric("tool_calls_total", "counter", "{call}", "Tool calls that were answered.", ("tool",)),
    Metric(
        "tool_execution_errors_total",
        "counter",
        "{call}",
        "Tool calls that failed: refused or impossible (error), a command with another exit code "
        "than 0 (exit), or the failure of the whole turn.",
        ("tool", "code"),
    ),
    Metric(
        "blueflame_checkpoint_seconds",
        "histogram",
        "s",
        "Time to collect and commit a worktree after a turn.",
        (),
        _SECONDS,
    ),
    # Activities and the host.
    Metric(
        "blueflame_activity_seconds",
        "histogram",
        "s",
        "Time of one attempt at an activity.",
        ("activity",),
        _SECONDS,
    ),
    Metric(
        "blueflame_activity_failures_total",
        "counter",
        "{attempt}",
        "Attempts at activities that failed.",
        ("activity", "type"),
    ),
    Metric(
        "blueflame_gate_run_seconds",
        "histogram",
        "s",
        "Time to judge one commit with all gates, set-up included.",
        ("of",),
        _SECONDS,
    ),
    Metric(
        "blueflame_gate_results_total",
        "counter",
        "{result}",
        "Results of gates on work and on the base.",
        ("of", "result"),
    ),
    Metric(
        "blueflame_setups_total",
        "counter",
        "{tree}",
        "Trees that were set up: by running the commands, or from a snapshot.",
        ("by",),
    ),
    Metric(
        "blueflame_setup_seconds",
        "histogram",
        "s",
        "Time to run the commands of a set-up and keep their results.",
        (),
        _SECONDS,
    ),
    Metric(
        "blueflame_sandbox_starts_total",
        "counter",
        "{command}",
        "Commands that were started in the sandbox, by how they ended.",
        ("end",),
    ),
    Metric(
        "blueflame_merges_total",
        "counter",
        "{merge}",
        "Attempts to merge a changeset onto the head.",
        ("outcome",),
    ),
    Metric(
        "blueflame_deliveries_total",
        "counter",
        "{delivery}",
        "Deliveries of the session's branch to the repository.",
        ("outcome",),
    ),
    Metric(
        "blueflame_log_write_errors_total",
        "counter",
        "{line}",
        "Lines of this process's log that could not be written.",
    ),
    # The machine's disk, from every worker with a disk.
    Metric(
        "blueflame_disk_free_bytes", "gauge", "By", "Free space on the disk of the data directory."
    ),
    Metric("blueflame_store_bytes", "gauge", "By", "Size of the store that all workers share."),
    # All open sessions of the server, from workers of role workflows: take the maximum over them.
    Metric("blueflame_sessions", "gauge", "{session}", "Open sessions.", ("phase",)),
    Metric("blueflame_tasks", "gauge", "{task}", "Tasks of open sessions.", ("state",)),
    Metric("blueflame_changesets", "gauge", "{set}", "Changesets of open sessions.", ("state",)),
    Metric(
        "blueflame_waits_for_person",
        "gauge",
        "{wait}",
        "Plans, changesets, questions and pauses of open sessions that wait for a person.",
        ("kind",),
    ),
    Metric(
        "blueflame_longest_wait_for_person_seconds",
        "gauge",
        "s",
        "The longest time that an open session has waited for a person.",
    ),
    Metric(
        "blueflame_longest_idle_seconds",
        "gauge",
        "s",
        "The longest time without an event in an open session that waits for no one.",
    ),
    Metric(
        "blueflame_unanswered_sessions",
        "gauge",
        "{session}",
        "Open sessions whose queries no worker answers.",
    ),
    Metric(
        "blueflame_parked_calls",
        "gauge",
        "{call}",
        "Model calls that wait for their provider now.",
        ("provider",),
    ),
    Metric("blueflame_spent_usd", "gauge", "{USD}", "What open sessions have spent."),
    Metric("blueflame_budget_left_usd", "gauge", "{USD}", "What open sessions may still spend."),
    Metric(
        "blueflame_burn_usd_per_minute", "gauge", "{USD}", "What open sessions spend in a minute."
    ),
    Metric(
        "blueflame_burn_limit_ratio",
        "gauge",
        "1",
        "Spending of an open session in a minute as a share of its limit; the highest of all "
        "sessions.",
    ),
    # Single open sessions, the latest ones: as long as they are open.
    Metric(
        "blueflame_session_spent_usd",
        "gauge",
        "{USD}",
        "What an open session has spent.",
        ("session",),
        is_replaced=True,
    ),
    Metric(
        "blueflame_session_budget_left_usd",
        "gauge",
        "{USD}",
        "What an open session may still spend.",
        ("session",),
        is_replaced=True,
    ),
    Metric(
        "blueflame_session_burn_usd_per_minute",
        "gauge",
        "{USD}",
        "What an open session spends in a minute.",
        ("session",),
        is_replaced=True,
    ),
    Metric(
        "blueflame_session_tasks",
        "gauge",
        "{task}",
        "Tasks of an open session; states without a task are left out.",
        ("session", "state"),
        is_replaced=True,
    ),
    Metric(
        "blueflame_session_waits_for_person",
        "gauge",
        "{wait}",
        "Plans, changesets, questions and pauses of an open session that wait for a person.",
        ("session",),
        is_replaced=True,
    ),
    Metric(
        "blueflame_session_quiet_seconds",
        "gauge",
        "s",
        "Time since the last event in an open session, whatever it waits for.",
        ("session",),
        is_replaced=True,
    ),
    Metric(
        "blueflame_queue_backlog",
        "gauge",
        "{work item}",
        "Work that waits in a task queue.",
        ("queue",),
        is_replaced=True,
    ),
    Metric(
        "blueflame_queue_pollers",
        "gauge",
        "{worker}",
        "Workers that lately asked a task queue for work.",
        ("queue",),
        is_replaced=True,
    ),
)

BY_NAME: Final[Mapping[str, Metric]] = {each.name: each for each in METRICS}


class WaitKind(StrEnum):
    """What a session may wait for a person to do."""

    PLAN = "plan"
    CHANGESET = "changeset"
    QUESTION = "question"
    PAUSED = "paused"


_FAILURES: Final = frozenset(FailureType)

CLOSED: Final[Mapping[str, frozenset[str]]] = {
    "role": frozenset(Role),
    "type": frozenset({"input", "cached_input", "cache_write", "output"}) | _FAILURES,
    "outcome": frozenset({"answered", "prefix_lost", "cancelled"})
    | frozenset({"merged", "conflict", "delivered", "refused"})
    | _FAILURES,
    "step": frozenset({"model", "tools"}),
    "tool": frozenset(get_args(ToolName)) | frozenset(SUBMITTING.values()),
    "code": frozenset({"error", "exit"}) | _FAILURES,
    "of": frozenset({"base", "work"}),
    "result": frozenset({"passed", "failed", "judged_nothing", "spared", "not_concerned"}),
    "by": frozenset({"commands", "snapshot"}),
    "end": frozenset(
        {"exited", "signalled", "timed_out", "out_of_memory", "out_of_disk"}
        | {"cancelled", "unavailable"}
    ),
    "kind": frozenset(WaitKind) | {"requests", "tokens", "input_tokens", "output_tokens"},
    "phase": frozenset(SessionPhase),
    "state": frozenset(TaskState) | frozenset(ChangesetState),
}
"""The values of labels that Blue Flame's own code decides."""

MOST: Final[Mapping[str, int]] = {
    "model": 20,
    "provider": 12,
    "activity": 30,
    "queue": 30,
    "session": 20,
}
"""How many different values are kept of labels with names that are not known here."""


class BoundedLabels:
    """Keeps the values of labels within their bounds, for one process."""

    def __init__(self) -> None:
        self._seen: dict[str, set[str]] = {label: set() for label in MOST}

    def within(self, metric: Metric, labels: Mapping[str, str]) -> dict[str, str]:
        """Return the labels of a metric with a known value each.

        Raises:
            ValueError: they are not exactly those of the metric.
        """
        if set(labels) != set(metric.labels):
            raise ValueError(f"{metric.name!r} has labels {metric.labels}, not {tuple(labels)}")
        return {label: self._value(label, labels[label]) for label in metric.labels}

    def _value(self, label: str, value: str) -> str:
        if label in CLOSED:
            return value if value in CLOSED[label] else OTHER
        seen = self._seen[label]
        if value not in seen and len(seen) >= MOST[label]:
            return OTHER
        seen.add(value)
        return value
