"""Every event that Blue Flame logs: the one table of names, levels, texts and fields.

`docs/events.md` is generated from it. What libraries log has no event. Who is meant (session,
agent, activity) is added where the line is written (`workers.telemetry.json_log`).
"""

import re
from collections.abc import Mapping
from typing import Final, Literal, NamedTuple, Protocol

SCHEMA_VERSION: Final = 1
"""Of the log's lines; a change that readers must know of takes the next number."""
_FIELD: Final = re.compile(r"%\((\w+)\)")


class Write(Protocol):
    """One level of a logger."""

    def __call__(
        self,
        msg: object,
        /,
        *args: object,
        exc_info: BaseException | None = None,
        extra: Mapping[str, object] | None = None,
    ) -> None:
        """Write a line."""
        ...


class Logger(Protocol):
    """What is used of a logger: the module's, the workflow's or the activity's."""

    @property
    def info(self) -> Write:
        """For what a person need not look at."""
        ...

    @property
    def warning(self) -> Write:
        """For what may need a look."""
        ...

    @property
    def error(self) -> Write:
        """For what needs a look."""
        ...


class LogEvent(NamedTuple):
    """One kind of event."""

    name: str
    level: Literal["info", "warning", "error"]
    text: str
    """The line, with its fields as `%(field)s`."""
    meaning: str

    @property
    def fields(self) -> frozenset[str]:
        """The names of its fields."""
        return frozenset(_FIELD.findall(self.text))


EVENTS: Final = (
    LogEvent(
        "worktree_left",
        "warning",
        "worktree of %(agent)r not removed: %(reason)s",
        "An ended agent's worktree stays until the clean-up.",
    ),
    LogEvent(
        "ledger_gone",
        "info",
        "the ledger ended before %(what)s: %(reason)s",
        "A message to a session's ledger came too late: the ledger had ended.",
    ),
    LogEvent(
        "ledger_silent",
        "warning",
        "the ledger did not answer; the spend shown is the session's",
        "A session ended without the final amount from its ledger.",
    ),
    LogEvent(
        "signal_undelivered",
        "info",
        "signal %(signal)s to %(workflow)r not delivered: %(reason)s",
        "The workflow that should get the signal had already ended.",
    ),
    LogEvent(
        "question_unheard",
        "info",
        "no session hears the question: %(reason)s",
        "An agent asked a question after its session had ended, so it decides itself.",
    ),
    LogEvent(
        "pulls_gone",
        "info",
        "the pull requests' workflow is gone already: %(reason)s",
        "The workflow that updates pull requests had ended before its session.",
    ),
    LogEvent(
        "pull_not_seen",
        "info",
        "pull request %(pull)s not seen: %(reason)s",
        "The hosting service did not answer; Blue Flame asks again later.",
    ),
    LogEvent(
        "session_gone",
        "info",
        "the session has ended already: %(reason)s",
        "Something was reported to a session that had already ended.",
    ),
    LogEvent(
        "report_begun",
        "info",
        "the session was reset; its report is already being written",
        "A session that was reset found that its report is already being written.",
    ),
    LogEvent(
        "notifier_kept",
        "info",
        "the session was reset; it keeps its notifier",
        "A session that was reset keeps the notifier that was already running.",
    ),
    LogEvent(
        "notifier_gone",
        "warning",
        "no message will be sent: the notifier is gone: %(reason)s",
        "The session sends no notifications, because its notifier was ended by hand.",
    ),
    LogEvent(
        "usage_missing",
        "warning",
        "%(model)s reports no usage: its calls are charged by an estimate",
        "A provider reports no token counts, so calls are charged at an estimate.",
    ),
    LogEvent(
        "message_waits",
        "info",
        "%(message)r waits for the end of the quiet hours at %(until)s",
        "A notification is held back during quiet hours.",
    ),
    LogEvent(
        "message_lost",
        "warning",
        "%(message)s did not reach %(target)r: %(reason)s",
        "A notification could not be delivered.",
    ),
    LogEvent(
        "setup_network_refused",
        "warning",
        "set-up succeeded, but %(reason)s",
        "Set-up tried to reach a host that is not allowed.",
    ),
    LogEvent(
        "cleanup_failed",
        "warning",
        "the daily clean-up failed, and is tried again tomorrow: %(reason)s",
        "The daily clean-up failed and runs again tomorrow.",
    ),
    LogEvent(
        "cleaned_up",
        "info",
        "cleaned up %(sessions)d sessions, %(bytes)d bytes",
        "The clean-up removed data of ended sessions.",
    ),
    LogEvent(
        "disk_budget_exceeded",
        "warning",
        "the data of sessions uses %(bytes)d bytes, more than BLUEFLAME_DISK_BYTES (%(limit)d); "
        "`blueflame cleanup --dry-run` says why each session stays",
        "The data of sessions exceeds the disk budget even after the clean-up.",
    ),
    LogEvent(
        "supervisor_failed",
        "error",
        "server and workers are no longer restarted: %(reason)s",
        "Blue Flame no longer restarts its processes.",
    ),
    LogEvent(
        "toolchain_refused", "warning", "%(reason)s", "A configured toolchain cannot be used here."
    ),
    LogEvent(
        "server_restarts",
        "warning",
        "Temporal server: %(reason)s; started again in %(seconds)s s",
        "The bundled server ended and is started again.",
    ),
    LogEvent(
        "server_keeps_failing",
        "error",
        "Temporal server: %(reason)s; started again in %(seconds)s s",
        "The bundled server ended several times in a row; see its log.",
    ),
    LogEvent(
        "builds_unknown",
        "info",
        "older builds could not be looked up: %(reason)s",
        "The server could not be asked for older builds; Blue Flame tries again.",
    ),
    LogEvent(
        "build_goes_on",
        "info",
        "open sessions of build %(build)r continue with its stored code",
        "A worker with an older build's code starts, because open sessions need it.",
    ),
    LogEvent(
        "build_removed",
        "info",
        "the stored code of build %(build)r is removed: no session needs it",
        "No session needs an older build any more, so its code was removed.",
    ),
    LogEvent(
        "build_missing",
        "warning",
        "open sessions wait for build %(build)r, whose code is not stored here",
        "Open sessions need a build whose code is missing: start workers of that build.",
    ),
    LogEvent(
        "build_not_kept",
        "warning",
        "the code of build %(build)r is not stored: %(reason)s",
        "The code of this build could not be stored, so after an upgrade its sessions wait.",
    ),
    LogEvent(
        "service_manager_deaf",
        "warning",
        "the service manager at %(address)r does not hear %(lines)s: %(reason)s",
        "systemd could not be told that a process is ready, alive or ending.",
    ),
    LogEvent(
        "sign_not_written",
        "warning",
        "sign of life %(file)r not written: %(reason)s",
        "A worker could not write its sign of life, so it will count as hanging.",
    ),
    LogEvent(
        "process_restarts",
        "warning",
        "%(process)s ended (%(reason)s); started again in %(seconds)s s",
        "A worker process ended and is started again.",
    ),
    LogEvent(
        "process_keeps_ending",
        "error",
        "%(process)s keeps ending; %(log)r tells why",
        "A worker process ended several times in a row; its log says why.",
    ),
    LogEvent(
        "process_not_told",
        "warning",
        "%(process)s cannot be told what it waits for: %(reason)s",
        "A worker process could not be told the server's address.",
    ),
    LogEvent(
        "state_not_written",
        "warning",
        "%(file)r not written: %(reason)s",
        "Other commands cannot see that the workers are ready.",
    ),
    LogEvent(
        "orphan_kept",
        "warning",
        "an orphaned activity could not be failed: %(reason)s",
        "An activity of a dead worker could not be marked as failed, so its retry waits for the "
        "heartbeat time-out.",
    ),
    LogEvent(
        "orphans_failed",
        "warning",
        "%(activities)d activities of a worker that died are released for a retry",
        "A worker died; its activities were marked as failed, so that they are retried at once.",
    ),
    LogEvent(
        "not_measured",
        "warning",
        "%(what)s cannot be measured now: %(reason)s; tried again later",
        "Some metrics could not be updated.",
    ),
    LogEvent(
        "metric_refused",
        "error",
        "%(metric)r cannot be measured",
        "Internal error: a metric could not be recorded; see the traceback.",
    ),
    LogEvent(
        "traces_ended",
        "warning",
        "traces are no longer sent: %(reason)s; correct that, and start again",
        "The export of traces failed, and stays off until the worker restarts.",
    ),
    LogEvent(
        "traces_wait",
        "warning",
        "traces cannot be sent now: %(reason)s; tried again later",
        "Traces could not be collected; Blue Flame tries again later.",
    ),
    LogEvent(
        "spans_refused",
        "warning",
        "the collector takes no spans; they are sent later",
        "The collector refused spans; they are sent again later.",
    ),
)
_BY_NAME: Final = {each.name: each for each in EVENTS}


def log_event(
    logger: Logger, event: str, *, error: BaseException | None = None, **fields: object
) -> None:
    """Log an event.

    Args:
        logger: the module's, the workflow's or the activity's.
        event: its name.
        error: an internal error whose traceback is logged too.
        fields: exactly the event's; exceptions and the like are logged as text.
    """
    found = _BY_NAME[event]
    plain = {
        name: value if isinstance(value, int | float) else str(value)
        for name, value in fields.items()
    }
    # A mapping as the only argument fills in `%(field)s`; an empty one would not.
    arguments = (plain,) if plain else ()
    write = {"info": logger.info, "warning": logger.warning, "error": logger.error}[found.level]
    write(found.text, *arguments, exc_info=error, extra={"event": event, "event_fields": plain})
