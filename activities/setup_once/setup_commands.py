"""Runs the commands of a set-up in the sandbox, and reports failed network requests."""

import re
from dataclasses import dataclass, field
from datetime import timedelta

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities.ports.sandbox_port import Limits, Sandbox, SandboxCommand, Workspace
from activities.text.redaction import redact_bytes
from workflows.domain.environment import ProjectEnvironment
from workflows.domain.ids import SessionId
from workflows.domain.repository import CopiedFile
from workflows.errors import FailureType
from workflows.policy.text.log_events import log_event

_TAIL_BYTES = 2_000
_NOTICES_TOLD = 20
_COMMAND_CHARS = 200
"""A view may show only a thousand characters of a failure; they must include the failed
requests."""
_LOOKED_FOR = re.compile(
    "name resolution|name or service not known|could not resolve|no address associated"
    "|network is unreachable|getaddrinfo|ENOTFOUND|EAI_AGAIN",
    re.IGNORECASE,
)
"""Messages of programs that find no network; they only add a hint."""


@dataclass(frozen=True)
class SetUp:
    """How the trees of one repository are set up."""

    session: SessionId
    key: str
    """The repository's key."""
    commands: tuple[tuple[str, ...], ...]
    timeout: timedelta
    """The time limit of each command."""
    network: tuple[str, ...] = ()
    copied: tuple[CopiedFile, ...] = ()
    environment: ProjectEnvironment = field(default_factory=ProjectEnvironment)


async def run_commands(
    sandbox: Sandbox, tree: Workspace, order: SetUp, hold: int
) -> tuple[str, ...]:
    """Run the set-up commands in the sandbox; only they may reach what `worktree.network` lists.

    Args:
        sandbox: the host's.
        tree: the worktree or checkout; it already holds the copied files.
        order: what to run, and which hosts may be reached.
        hold: the lock that the processes hold: the tree's, or the snapshot's.

    Returns:
        Network requests that failed, although set-up succeeded.

    Raises:
        ApplicationError: SetupFailed, with the failed network requests.
    """
    refusals: dict[str, None] = {}
    for argv in order.commands:
        command = SandboxCommand(
            argv=argv,
            workspace=tree,
            limits=Limits.within(order.environment, order.timeout),
            network=order.network,
        )
        ran = await sandbox.run(command, hold)
        refusals |= dict.fromkeys(ran.refusals)
        if ran.end != "exited" or ran.code != 0:
            tail = redact_bytes(ran.output)[-_TAIL_BYTES:].decode("utf-8", "replace")
            said = ran.refusals or _hint(order.network, tail)
            what = f"set-up command {repr(argv)[:_COMMAND_CHARS]} {ran.end} with {ran.code}:"
            lines = (what, *said, tail)
            raise setup_failed("\n".join(lines))
    for text in refusals:
        log_event(activity.logger, "setup_network_refused", reason=text)
    return tuple(refusals)[:_NOTICES_TOLD]


def _hint(network: tuple[str, ...], output: str) -> tuple[str, ...]:
    """If a program tried to use the network directly, say why it could not."""
    if not _LOOKED_FOR.search(output):
        return ()
    if network:
        return ("set-up reaches a network only through HTTP_PROXY and HTTPS_PROXY",)
    return ("in a sandbox set-up has no network where 'worktree.network' lists no host",)


def setup_failed(text: str) -> ApplicationError:
    """Return the failure that says why a tree could not be set up."""
    return ApplicationError(text, type=FailureType.SETUP_FAILED, non_retryable=True)
