"""The report of a session that has ended, written by a worker: also where no command followed it.

It is written beside the session's end, by a workflow that outlives it: no fault of it changes how
the session ends.
"""

from datetime import timedelta
from typing import Final

from temporalio import workflow
from temporalio.common import WorkflowIDReusePolicy
from temporalio.exceptions import ActivityError, WorkflowAlreadyStartedError

from workflows.contracts.land_contracts import WRITE_REPORT, WriteReport
from workflows.domain.ids import SessionId
from workflows.policy.text.log_events import log_event

_FOLLOWERS_FIRST: Final = timedelta(seconds=5)
"""A command that follows a session writes its report at once."""


@workflow.defn(name="SessionReport")
class SessionReport:
    """Purpose: one report of one session, once it has ended.

    No signals, updates or queries. It has few events and never continues as new.
    """

    @workflow.run
    async def run(self, session: SessionId) -> str:
        """Write the report; return why there is none, or an empty text."""
        asked = WriteReport(session=session, ended_at=workflow.now())
        await workflow.sleep(_FOLLOWERS_FIRST)
        try:
            return (await WRITE_REPORT.ask(asked, "write the session's report")).fault
        except ActivityError as error:
            return f"the report was not written: {error.cause or error}"[:500]


async def start_report(session: SessionId) -> None:
    """Let a worker write the report of a session that is about to end."""
    if not workflow.patched("report-at-end"):
        return
    try:
        await workflow.start_child_workflow(
            SessionReport.run,
            session,
            id=f"session/{session}/report",
            id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
            static_summary="the report",
            parent_close_policy=workflow.ParentClosePolicy.ABANDON,
        )
    except WorkflowAlreadyStartedError:
        log_event(workflow.logger, "report_begun")
