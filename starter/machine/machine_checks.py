"""The checks of `doctor`: one function per check, one line per answer.

A check only inspects; it fixes nothing and starts nothing that stays. Checks of a repository are in
`repository_checks`.
"""

import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Literal

from starter.console.command_errors import CommandError
from starter.console.disk_space import free_bytes
from starter.console.program_name import as_typed
from starter.console.terminal import shown
from starter.machine.data_directory import prepare
from starter.machine.system_programs import answer, git_version, require_sandbox
from starter.views.safety_labels import NO_SANDBOX

if TYPE_CHECKING:
    from workers.settings import Settings

_ENOUGH_BYTES: Final = 5_000_000_000
_SKEW: Final = timedelta(seconds=5)
_PROBE: Final = ("--unshare-all", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "true")
_MARKS: Final = {"well": "ok     ", "note": "note   ", "missing": "MISSING"}


@dataclass(frozen=True)
class Check:
    """One answer."""

    name: str
    state: Literal["well", "note", "missing"]
    """`note`: a session can run, but a person should know."""
    text: str
    """What was found, and how to fix it."""


def line(check: Check) -> str:
    """Return a check as one line; further lines of its text follow, indented."""
    text = shown(as_typed(check.text)).replace("\n", f"\n{' ' * 18}")
    return f"{_MARKS[check.state]} {check.name:<9} {text}"


async def all_checks(settings: "Settings") -> list[Check]:
    """Run every check, in the order in which a newcomer fixes things."""
    every: tuple[Callable[[Settings], Awaitable[Check]], ...] = (
        _python,
        _git,
        _sandbox,
        _cgroup,
        _data,
        _disk,
        _temporal,
        _workers,
        _clock,
    )
    return [await check(settings) for check in every]


async def _python(settings: "Settings") -> Check:
    del settings
    version = ".".join(map(str, sys.version_info[:3]))
    return Check("python", "well", f"{version} ({sys.executable})")


async def _git(settings: "Settings") -> Check:
    del settings
    try:
        return Check("git", "well", await git_version())
    except CommandError as error:
        return Check("git", "missing", str(error))


async def _sandbox(settings: "Settings") -> Check:
    if settings.sandbox == "none":
        return Check("sandbox", "note", f"{NO_SANDBOX}; unset BLUEFLAME_SANDBOX to have one")
    try:
        require_sandbox()
    except CommandError as error:
        return Check("sandbox", "missing", str(error))
    code, output = await answer("bwrap", *_PROBE)
    if code != 0:
        return Check(
            "sandbox",
            "missing",
            f"bubblewrap cannot make a sandbox ({output.strip()[:200]}); allow user namespaces: "
            "`sysctl kernel.unprivileged_userns_clone=1`, on Ubuntu 24.04 and newer "
            "`sysctl kernel.apparmor_restrict_unprivileged_userns=0`",
        )
    _, version = await answer("bwrap", "--version")
    return Check("sandbox", "well", version.strip())


async def _cgroup(settings: "Settings") -> Check:
    from workers.hosting.cgroup_delegation import DelegationError, place_of

    try:
        place = place_of(settings.cgroup)
    except DelegationError as error:
        return Check("limits", "missing", str(error))
    if place is None:
        text = "memory of commands is sampled; BLUEFLAME_CGROUP can name a delegated cgroup"
        return Check("limits", "well", text)
    return Check("limits", "well", f"the kernel bounds each command, in {str(place)!r}")


async def _data(settings: "Settings") -> Check:
    try:
        prepare(settings)
    except CommandError as error:
        return Check("data", "missing", str(error))
    return Check("data", "well", str(settings.data_dir))


async def _disk(settings: "Settings") -> Check:
    free = free_bytes(settings.data_dir)
    text = f"{free / 1e9:.1f} GB free at {settings.data_dir}"
    if free < _ENOUGH_BYTES:
        return Check("disk", "note", f"{text}; worktrees of a large repository need more")
    return Check("disk", "well", text)


async def _temporal(settings: "Settings") -> Check:
    from workers.server.dev_server import ServerProgramMissingError, find_program
    from workers.temporal.connection import connect, target
    from workers.temporal.temporal_errors import NoServerError, TemporalUnavailableError

    try:
        if not settings.has_external_server:
            find_program()
        await connect(settings, timedelta(seconds=5))
    except ServerProgramMissingError as error:
        return Check("temporal", "missing", str(error))
    except NoServerError:
        return Check("temporal", "well", "the bundled server is installed; `up` and `run` start it")
    except TemporalUnavailableError as error:
        state = "missing" if settings.has_external_server else "note"
        return Check("temporal", state, str(error))
    return Check("temporal", "well", f"answers at {target(settings)}")


async def _workers(settings: "Settings") -> Check:
    from starter.views.worker_words import workers_marks
    from workers.server.supervisor import read_state

    state = read_state(settings)
    if state is None:
        return Check("workers", "well", "none run here; `up` and `run` start them")
    marks = workers_marks(state.playbook, state.sandbox)
    text = "\n".join([f"process {state.pid} keeps them", *marks])
    return Check("workers", "note" if marks else "well", text)


async def _clock(settings: "Settings") -> Check:
    from starter.machine.clock import skew

    behind = await skew(settings)
    if behind > _SKEW:
        seconds = f"{behind.total_seconds():.0f} s"
        return Check("clock", "missing", f"at least {seconds} behind; set it by NTP")
    return Check("clock", "well", "plausible")
