"""Whether workers serve the sessions on a server, and one session."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from temporalio.client import Client


async def has_workers(client: "Client") -> bool:
    """Tell whether any workers asked for work on sessions recently.

    They may run on other machines. A killed worker counts for 90 seconds too.

    Raises:
        RPCError: the server does not answer.
    """
    from workers.versions.deployment import builds_at_work

    return bool(await builds_at_work(client))


async def serves(client: "Client", workflow: str) -> bool:
    """Tell whether workers that a workflow can run on asked for work recently.

    Args:
        client: of the server.
        workflow: its id; it may be bound to a build.

    Raises:
        RPCError: the server does not answer, or does not know the workflow.
    """
    from workers.versions.deployment import builds_at_work
    from workers.versions.obstacles import obstacle

    at_work = await builds_at_work(client)
    if not at_work:
        return False
    description = await client.get_workflow_handle(workflow).describe()
    return not await obstacle(client, description.raw_description, at_work)


async def why_unanswered(client: "Client", workflow: str, *, scripted: bool) -> str:
    """Return why no worker answers for an open session, and what a person can do.

    Args:
        client: of the server.
        workflow: the session's.
        scripted: a playbook answers for one of its roles.

    Raises:
        RPCError: the server does not answer, or does not know the workflow.
    """
    from workers.versions.deployment import builds_at_work
    from workers.versions.obstacles import obstacle

    description = await client.get_workflow_handle(workflow).describe()
    at_work = await builds_at_work(client)
    known = await obstacle(client, description.raw_description, at_work) if at_work else ""
    played = " --playbook FILE" if scripted else ""
    return known or f"no worker answers; `up --detach{played}` starts one, and it goes on"
