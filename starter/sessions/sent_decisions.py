"""Sends a decision to a session: as an Update, answered at once, if a worker answers.

Two people who decide at the same time each get the answer to their own decision. The Update's id is
made once, so a call repeated after a lost answer has one effect. If no worker answers, the decision
is left as a signal: the session judges it later, and one that it cannot carry out becomes a notice.
"""

import asyncio
import getpass
import socket
import uuid
from datetime import timedelta
from typing import Final, Protocol

from temporalio.client import (
    WorkflowHandle,
    WorkflowUpdateFailedError,
    WorkflowUpdateRPCTimeoutOrCancelledError,
)
from temporalio.service import RPCError, RPCStatusCode

from starter.console.command_errors import CommandError
from starter.console.exit_codes import ExitCode
from starter.sessions.shown_session import ShownSession
from workflows.domain.ids import SessionId
from workflows.domain.session.decision import DecisionOutcome

_ANSWER: Final = timedelta(seconds=15)
"""How long one call waits for the answer."""
_CALLS: Final = 4
GONE: Final = {RPCStatusCode.NOT_FOUND, RPCStatusCode.INVALID_ARGUMENT}
_PASSING: Final = {RPCStatusCode.UNAVAILABLE, RPCStatusCode.RESOURCE_EXHAUSTED}


def decider() -> str:
    """Return who decides, for approvals: `user@host`."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = "unknown"
    return f"{user}@{socket.gethostname()}"[:200]


class Receiver(Protocol):
    """Sends decisions to a session: the client `Sessions`, or a stand-in."""

    async def decide(self, session: SessionId, name: str, content: object) -> DecisionOutcome:
        """Send it as an Update and return the answer."""
        ...

    async def signal(self, session: SessionId, name: str, content: object) -> None:
        """Send it as a signal, which has no answer."""
        ...


async def send(sessions: Receiver, before: ShownSession, name: str, content: object) -> str:
    """Send a decision, and report if the session refuses it.

    Args:
        sessions: where the session is.
        before: its latest view.
        name: the Update's and the signal's name.
        content: its one input.

    Returns:
        What else follows, in a sentence; empty if nothing does, or no worker answers.

    Raises:
        CommandError: the session has ended, refused the decision, or did not answer.
    """
    if before.live:
        return (await sessions.decide(before.session, name, content)).told
    await sessions.signal(before.session, name, content)
    return ""


async def execute(
    handle: WorkflowHandle[object, object], name: str, content: object, update_id: str = ""
) -> DecisionOutcome:
    """Send an Update until it is answered.

    Args:
        handle: the session's workflow.
        name: the Update's name.
        content: its one input.
        update_id: generated if empty.

    Raises:
        CommandError: the session has ended, refused the decision, or did not answer.
        RPCError: the server refuses the call.
    """
    update_id = update_id or uuid.uuid4().hex
    for call in range(_CALLS):
        try:
            return await handle.execute_update(
                name, content, id=update_id, result_type=DecisionOutcome, rpc_timeout=_ANSWER
            )
        except WorkflowUpdateFailedError as error:
            said = getattr(error.cause, "message", str(error.cause))
            raise CommandError(f"the session says: {said}", ExitCode.STALE) from error
        except WorkflowUpdateRPCTimeoutOrCancelledError as error:
            # The client turns a cancellation of this task into its own error, but Ctrl-C must pass.
            if isinstance(error.__cause__, asyncio.CancelledError):
                raise error.__cause__ from None
        except RPCError as error:
            if error.status in GONE:
                # An earlier call may have arrived, with its answer lost.
                sent = "nothing was sent" if call == 0 else "see `status` for what it did"
                raise CommandError(
                    f"session {_name(handle)!r} has ended or does not exist; {sent}",
                    ExitCode.STALE,
                ) from error
            if error.status not in _PASSING:
                raise
    raise CommandError(
        f"session {_name(handle)!r} did not answer to {name!r}; see `status` before you repeat it",
        ExitCode.UNAVAILABLE,
    )


def _name(handle: WorkflowHandle[object, object]) -> str:
    return handle.id.removeprefix("session/")
