"""Whether bubblewrap works here: starts it once for real, and turns its complaints into advice."""

import asyncio
import re
import subprocess
import tempfile
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path

from activities.ports.sandbox_port import (
    Limits,
    SandboxCommand,
    SandboxProbe,
    SandboxResult,
    SandboxUnavailableError,
    Workspace,
)

_OLDEST = (0, 8)
_NO_CVE_FROM = (0, 12)
_PROBE_TIMEOUT = timedelta(seconds=30)
_VERSION_TIMEOUT = timedelta(seconds=20)
"""Either takes a twentieth of a second; the caller has two minutes (`CLAIM_HOST`)."""

_MENDS = (
    (
        r"setting up uid map|loopback: Failed RTM_NEWADDR",
        (
            "The system restricts user namespaces (AppArmor does on Ubuntu 24.04 and later). Allow "
            "them: `sysctl kernel.apparmor_restrict_unprivileged_userns=0`, or a profile for bwrap."
        ),
    ),
    (
        r"No permissions to creat\w+ new namespace|Creating new namespace failed",
        (
            "User namespaces are switched off. Allow them: "
            "`sysctl kernel.unprivileged_userns_clone=1 user.max_user_namespaces=15000`; "
            "in a container start it with a seccomp profile that allows them."
        ),
    ),
    (
        r"Can't mount proc",
        (
            "The container hides parts of /proc. "
            "Start it with `--security-opt systempaths=unconfined`."
        ),
    ),
    (
        r"Unknown option",
        "This bubblewrap is too old; version 0.8 or later is needed: `apt-get install bubblewrap`.",
    ),
    (
        r"Can't find source path|Permission denied",
        (
            "A path that has to be shown is missing or closed to this user (often below a home of "
            "mode 0700). Open it (`chmod o+x`), or install the toolchain elsewhere."
        ),
    ),
)


def explain(complaint: str) -> str:
    """Turn bubblewrap's complaint into a sentence that says what to do.

    Args:
        complaint: its output before any command ran; may be empty.
    """
    last = complaint.strip().splitlines()[-1] if complaint.strip() else "it ended without a word"
    for pattern, fix in _MENDS:
        if re.search(pattern, complaint):
            return f"The sandbox did not start ({last}). {fix}"
    return (
        f"The sandbox did not start ({last}). `bwrap --ro-bind / / true` shows if it works at all."
    )


async def probe_bubblewrap(
    run: Callable[[SandboxCommand], Awaitable[SandboxResult]], program: str
) -> SandboxProbe:
    """Start the real arrangement once on an empty folder.

    Args:
        run: the sandbox's own `run`.
        program: bubblewrap's name, to ask for its version.
    """
    version = await asyncio.to_thread(_version, program)
    name = f"bubblewrap {'.'.join(map(str, version))}" if version else "bubblewrap"
    try:
        reason = await _try(run)
    except SandboxUnavailableError as error:
        reason = str(error)
    except OSError as error:
        reason = f"The sandbox cannot be tried: {error}."
    if reason is None and version is not None and version < _OLDEST:
        reason = f"{name} is too old; version 0.8 or later is needed."
    return SandboxProbe(
        usable=reason is None,
        name=name,
        reason=reason,
        warnings=_warnings(name, version),
    )


async def _try(run: Callable[[SandboxCommand], Awaitable[SandboxResult]]) -> str | None:
    with tempfile.TemporaryDirectory(prefix="blueflame-probe-") as folder:
        workspace = Workspace(path=Path(folder))
        limits = Limits(timeout=_PROBE_TIMEOUT)
        argv = ("cat", "/proc/self/status")
        result = await run(SandboxCommand(argv=argv, workspace=workspace, limits=limits))
    missing = [one for one in _WANTED if not re.search(one, result.output, re.MULTILINE)]
    if result.end == "timed_out":
        return f"The sandbox does not start within {_PROBE_TIMEOUT.total_seconds():g} s."
    if result.end != "exited" or result.code != 0 or missing:
        seen = missing or result.output
        return f"The sandbox starts but does not hold: {seen!r} is not as expected."
    return None


_WANTED = (
    rb"^CapEff:\s+0+$",
    rb"^CapBnd:\s+0+$",
    rb"^NoNewPrivs:\s+1$",
    rb"^Seccomp:\s+2$",
)


def _version(program: str) -> tuple[int, ...] | None:
    """Ask bubblewrap for its version; None if it does not answer."""
    try:
        asked = subprocess.run(
            (program, "--version"),
            capture_output=True,
            timeout=_VERSION_TIMEOUT.total_seconds(),
            check=False,
            env={},
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(rb"(\d+)\.(\d+)(?:\.(\d+))?", asked.stdout)
    return tuple(int(part) for part in found.groups(b"0")) if found else None


def _warnings(name: str, version: tuple[int, ...] | None) -> tuple[str, ...]:
    if version is None or version >= _NO_CVE_FROM:
        return ()
    return (
        (
            f"{name} has CVE-2026-87766 (fixed in 0.12.0). It is not exploitable here: nothing is "
            "mounted below a directory that a command can write, save for the checked `.git`."
        ),
    )
