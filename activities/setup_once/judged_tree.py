"""A checkout of one commit for gates: locked, set up, restored after each gate, and removed."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from activities.gates.execution import Checkout
from activities.repository.host_data import Host, workspace
from activities.setup_once.set_up import SetUpTree
from activities.setup_once.setup_commands import SetUp
from workflows.contracts.gate_contracts import RunGates
from workflows.domain.ids import Tree


@dataclass(frozen=True)
class JudgedTree:
    """The checkout, ready for a gate."""

    tree: Tree
    checkout: Checkout
    notices: tuple[str, ...]
    """Network requests of set-up that failed."""
    is_shared: bool
    """Another checkout costs almost nothing."""


@asynccontextmanager
async def judged_tree(host: Host, request: RunGates, number: int = 0) -> AsyncGenerator[JudgedTree]:
    """Make a checkout of the commit, hold its lock, and remove it at the end.

    Args:
        host: where to make it.
        request: names the commit, its set-up and its environment.
        number: distinguishes several checkouts at the same time.
    """
    worktrees = host.worktrees(request.key)
    name = f"{request.session}.gate.{request.commit[:16]}".lower()
    name = f"{name}.{number}" if number else name
    async with worktrees.lock(name) as hold:
        await worktrees.remove_worktree(name)
        try:
            place = await worktrees.create_worktree(name, request.commit)
            tree = (await worktrees.collect(name)).tree
            furnished = SetUpTree(host, _set_up(request), name, request.commit)
            notices = await furnished.prepare(place, hold)

            async def restore() -> tuple[str, ...]:
                changes = (await worktrees.collect(name)).changes
                await worktrees.restore(name, request.commit)
                await furnished.renew(place)
                return tuple(each.path for each in changes if each.status != "added")

            await worktrees.restore(name, request.commit)
            shown = workspace(place, request.environment, writable=True)
            checkout = Checkout(shown, restore, hold)
            yield JudgedTree(tree, checkout, notices, is_shared=furnished.is_shared)
        finally:
            await worktrees.remove_worktree(name)


def _set_up(request: RunGates) -> SetUp:
    return SetUp(
        session=request.session,
        key=request.key,
        commands=request.setup,
        timeout=request.setup_timeout,
        network=request.network,
        copied=request.copied,
        environment=request.environment,
    )
