"""Runs a repository's set-up and each gate once in the sandbox, on the base, and times them.

A process of its own, `python -m workers.hosting.gate_trial`: a request on the standard input, a
report on the standard output. It exports the base with the caller's rights, then drops root, and
does the rest as a host does. It removes its files at its end.

It compares nothing; it only finds out whether each gate can judge.
"""

import asyncio
import os
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydantic import BaseModel

from workers.hosting.host_user import become_host_user
from workers.settings import Settings
from workflows.domain.environment import ProjectEnvironment
from workflows.domain.gate import GateResult, GateSpec
from workflows.domain.ids import Digest, SessionId
from workflows.domain.repository import Base
from workflows.domain.session.session_config import WorktreeConfig

if TYPE_CHECKING:
    from activities.ports.host_repository import HostRepository, WorktreePlace
    from activities.repository.host_data import Host
    from activities.setup_once.setup_commands import SetUp

_MODULE = "workers.hosting.gate_trial"


class TrialRequest(BaseModel, frozen=True, extra="forbid"):
    """What to try."""

    session: SessionId
    """A fresh id, which names the trial's files on disk."""
    repository: str
    worktree: WorktreeConfig
    environment: ProjectEnvironment
    gates: tuple[GateSpec, ...] | None
    """None: detect the gates."""
    base: Base | None = None
    """The base, if already exported."""
    bundle: Digest | None = None
    """What brings the base; None: it is on the host."""
    ends: Digest | None = None
    """As in `SentBase`."""


class TriedGate(BaseModel, frozen=True, extra="forbid"):
    """One gate's run."""

    result: GateResult
    seconds: float


class TrialReport(BaseModel, frozen=True, extra="forbid"):
    """The result."""

    fault: str = ""
    """Why nothing could be tried, or how set-up failed; empty if the gates ran."""
    has_checkout: bool = False
    """True if set-up caused the fault."""
    setup_seconds: float = 0
    setup_use: str = ""
    """How worktrees and checkouts get the results of set-up, for a person."""
    setup_notices: tuple[str, ...] = ()
    """Network requests of set-up that failed, and files of it that are not kept."""
    gates: tuple[TriedGate, ...] = ()


async def export(settings: Settings, request: TrialRequest) -> TrialRequest:
    """Return the request with its base, read with the rights of this process.

    As root it sends the whole history: only the host's own user looks at what the host has.
    """
    from activities.adapters.blob_store import LocalStore
    from activities.adapters.git.git_command import Git
    from activities.adapters.git.user.branch_landing import GitUserRepository
    from activities.base_import import ExportActivities, ImportActivities
    from workers.hosting.host_wiring import git_program, make_host, own_places, person_of
    from workflows.contracts.host_contracts import AwaitBase, AwaitedBase
    from workflows.contracts.land_contracts import ExportBase, SendBase, SentBase

    repository = GitUserRepository(Git(git_program()), person_of(os.environ))
    wanted = ExportBase(
        session=request.session,
        repository=request.repository,
        base=None,
        worktree=request.worktree,
    )
    store = LocalStore(settings.store_dir)
    exports = ExportActivities(repository, store, own_places(settings))
    base = await exports.export(wanted)
    awaited = AwaitedBase(is_there=False)
    if os.geteuid() != 0:
        asked = AwaitBase(key=base.key, commit=base.commit)
        awaited = await ImportActivities(make_host(settings)).await_base(asked)
    send = SendBase(
        session=request.session,
        repository=base.repository,
        key=base.key,
        commit=base.commit,
        known=awaited.known,
        place=awaited.place,
        ends=awaited.ends,
        history=request.worktree.history,
    )
    is_enough = awaited.is_there and awaited.ends is None
    sent = SentBase() if is_enough else await exports.send(send)
    return TrialRequest(
        session=request.session,
        repository=request.repository,
        worktree=request.worktree,
        environment=request.environment,
        gates=request.gates,
        base=base,
        bundle=sent.bundle,
        ends=sent.ends,
    )


async def attempt(settings: Settings, request: TrialRequest) -> TrialReport:
    """Run set-up and gates on a fresh checkout of the base."""
    from activities.base_import import ImportActivities
    from workers.hosting.host_wiring import make_host
    from workflows.contracts.host_contracts import ImportBase

    base = request.base
    assert base is not None
    host = make_host(settings)
    imported = await ImportActivities(host).import_base(
        ImportBase(
            session=request.session,
            key=base.key,
            bundle=request.bundle,
            names=base.names,
            excludes=base.excludes,
            rules=base.rules,
            shallow=base.shallow,
            ends=request.ends,
            commit=base.commit,
            gates=request.gates,
            disk_bytes=0,
        )
    )
    repository = host.repository(base.key)
    name = f"{request.session}.trial"
    try:
        async with repository.lock(name) as hold:
            return await _tried(host, repository, request, imported.gates, hold)
    finally:
        await repository.remove_worktree(name)
        await _delete_refs(settings, base.key, request.session)


async def _delete_refs(settings: Settings, key: str, session: SessionId) -> None:
    from activities.adapters.git.git_command import Git
    from activities.adapters.git.repository_cleanup import Cleanup
    from workers.hosting.host_wiring import git_program

    cleanup = Cleanup(Git(git_program()), settings.host_dir, key)
    await cleanup.delete_refs((await cleanup.refs()).get(session, {}))


async def _tried(
    host: "Host",
    repository: "HostRepository",
    request: TrialRequest,
    gates: tuple[GateSpec, ...],
    hold: int,
) -> TrialReport:
    from temporalio.exceptions import ApplicationError

    from activities.gates.execution import Checkout, GateRunner
    from activities.ports.sandbox_port import Limits
    from activities.repository.host_data import workspace
    from activities.setup_once.set_up import SetUpTree

    base = request.base
    assert base is not None
    name = f"{request.session}.trial"
    place = await repository.create_worktree(name, base.commit)
    furnished = SetUpTree(host, _set_up_of(request), name, base.commit)
    began = time.monotonic()
    try:
        notices = await furnished.prepare(place, hold)
    except ApplicationError as error:
        return TrialReport(
            fault=error.message, has_checkout=True, setup_seconds=time.monotonic() - began
        )
    took = time.monotonic() - began

    async def restore() -> tuple[str, ...]:
        await repository.restore(name, base.commit)
        await furnished.renew(place)
        return ()

    await repository.restore(name, base.commit)
    tree = workspace(place, request.environment, writable=True)
    limits = Limits.within(request.environment)
    runner, tried = GateRunner(host.sandbox, host.store), list[TriedGate]()
    for gate in gates:
        began = time.monotonic()
        (result,) = await runner.run((gate,), Checkout(tree, restore, hold), limits)
        tried.append(TriedGate(result=result, seconds=time.monotonic() - began))
    return TrialReport(
        setup_seconds=took,
        setup_use=await _use_of(host, place, was_kept=furnished.was_kept),
        setup_notices=notices,
        gates=tuple(tried),
    )


async def _use_of(host: "Host", place: "WorktreePlace", *, was_kept: bool) -> str:
    layering = await host.sandbox.layering(place.state)
    when = "kept from an earlier run" if was_kept else "kept from now on"
    match layering.kind:
        case "mounted":
            return f"{when} for all worktrees and checkouts that it fits"
        case "copied":
            return f"{when}, and copied to each worktree and checkout. {layering.reason}"
        case "none":
            return f"in each worktree and checkout. {layering.reason}"


def _set_up_of(request: TrialRequest) -> "SetUp":
    from activities.setup_once.setup_commands import SetUp

    base = request.base
    assert base is not None
    return SetUp(
        session=request.session,
        key=base.key,
        commands=request.worktree.setup,
        timeout=request.worktree.setup_timeout,
        network=request.worktree.network,
        copied=base.copied,
        environment=request.environment,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Read a request, try it, and write the report.

    Args:
        arguments: a request with its base, if root was dropped before; None: the process's own.
    """
    given = sys.argv[1:] if arguments is None else arguments
    settings = Settings.read()
    try:
        if given:
            request = TrialRequest.model_validate_json(given[0])
        else:
            request = TrialRequest.model_validate_json(sys.stdin.buffer.read())
            request = asyncio.run(export(settings, request))
        become_host_user(settings, _MODULE, (request.model_dump_json(),))
        report = asyncio.run(attempt(settings, request))
    except Exception as error:  # noqa: BLE001 (whatever it is, a person is told)
        report = TrialReport(fault=f"{error}")
    sys.stdout.write(f"{report.model_dump_json()}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
