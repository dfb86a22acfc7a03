"""What `doctor` looks at: one function for each thing, one line for each answer.

A check only looks; it mends nothing and starts nothing that stays.
"""

import asyncio
import os
import shutil
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Literal

from activities.ports.endpoints import endpoints
from starter.terminal import shown

if TYPE_CHECKING:
    from workers.settings import Settings

_ENOUGH_BYTES: Final = 5_000_000_000
_SKEW: Final = timedelta(seconds=5)
_PROBE: Final = ("--unshare-all", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "true")
_KEYS: Final = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY")
_MARKS: Final = {"well": "ok     ", "note": "note   ", "missing": "MISSING"}


@dataclass(frozen=True)
class Check:
    """One answer."""

    name: str
    state: Literal["well", "note", "missing"]
    """`note`: a session can run, but a person should know."""
    text: str
    """What was found, and how to mend it."""


def line(check: Check) -> str:
    """Return a check as one line."""
    return f"{_MARKS[check.state]} {check.name:<9} {shown(check.text)}"


async def all_checks(settings: "Settings") -> list[Check]:
    """Run every check, in the order that a newcomer mends things."""
    every: tuple[Callable[[Settings], Awaitable[Check]], ...] = (
        _python,
        _git,
        _sandbox,
        _data,
        _disk,
        _temporal,
        _clock,
        _keys,
    )
    return [await check(settings) for check in every]


async def _python(settings: "Settings") -> Check:
    del settings
    version = ".".join(map(str, sys.version_info[:3]))
    return Check("python", "well", f"{version} ({sys.executable})")


async def _git(settings: "Settings") -> Check:
    del settings
    code, output = await _answer("git", "--version")
    if code is None:
        return Check("git", "missing", "not installed; `apt install git` (2.39 or newer)")
    version = output.split()[2] if len(output.split()) > 2 else output  # noqa: PLR2004 (git version X)
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    if numbers < (2, 39):
        return Check("git", "missing", f"{version}; 2.39 or newer is needed")
    return Check("git", "well", version)


async def _sandbox(settings: "Settings") -> Check:
    del settings
    if shutil.which("bwrap") is None:
        return Check(
            "sandbox",
            "missing",
            "bubblewrap is not installed; `apt install bubblewrap`. "
            "`sandbox: none` runs without, at your own risk",
        )
    code, output = await _answer("bwrap", *_PROBE)
    if code != 0:
        return Check(
            "sandbox",
            "missing",
            f"bubblewrap cannot make a sandbox ({output.strip()[:200]}); allow user namespaces: "
            "`sysctl kernel.unprivileged_userns_clone=1`, on Ubuntu 24.04 and newer "
            "`sysctl kernel.apparmor_restrict_unprivileged_userns=0`",
        )
    _, version = await _answer("bwrap", "--version")
    return Check("sandbox", "well", version.strip())


async def _data(settings: "Settings") -> Check:
    from workers import layout

    try:
        layout.prepare(settings)
    except OSError as error:
        return Check("data", "missing", f"{error}; BLUEFLAME_DATA_DIR names another directory")
    return Check("data", "well", str(settings.data_dir))


async def _disk(settings: "Settings") -> Check:
    place = settings.data_dir
    while not place.exists() and place != place.parent:
        place = place.parent
    free = shutil.disk_usage(place).free
    text = f"{free / 1e9:.1f} GB free at {place}"
    if free < _ENOUGH_BYTES:
        return Check("disk", "note", f"{text}; worktrees of a large repository need more")
    return Check("disk", "well", text)


async def _temporal(settings: "Settings") -> Check:
    from workers.embedded import ServerProgramMissingError, find_program
    from workers.temporal import NoServerError, TemporalUnavailableError, connect, target

    try:
        if not settings.has_external_server:
            find_program()
        await connect(settings, timedelta(seconds=5))
    except ServerProgramMissingError as error:
        return Check("temporal", "missing", str(error))
    except NoServerError:
        return Check("temporal", "well", "the bundled server is there, `up` or `run` starts it")
    except TemporalUnavailableError as error:
        state = "missing" if settings.has_external_server else "note"
        return Check("temporal", state, str(error))
    return Check("temporal", "well", f"answers at {target(settings)}")


async def _clock(settings: "Settings") -> Check:
    from starter.clock import skew

    behind = await skew(settings)
    if behind > _SKEW:
        seconds = f"{behind.total_seconds():.0f} s"
        return Check("clock", "missing", f"at least {seconds} behind; set it by NTP")
    return Check("clock", "well", "plausible")


async def _keys(settings: "Settings") -> Check:
    named = sorted(settings.key_variables - set(_KEYS))
    found = [name for name in (*_KEYS, *named) if os.environ.get(name, "").strip()]
    if missing := [name for name in named if name not in found]:
        return Check("keys", "note", f"your providers want {', '.join(missing)}; set what you use")
    keyless = [name for name, entry in endpoints(settings.providers).items() if not entry.key]
    if not found and keyless:
        return Check("keys", "well", f"none is set; {', '.join(keyless)} wants none")
    if not found:
        return Check(
            "keys",
            "note",
            f"none is set; set those of two providers ({', '.join(_KEYS[:3])}), "
            "or give `run` a --playbook, which needs none",
        )
    return Check("keys", "well", f"{', '.join(found)} (set, not tried)")


async def _answer(*argv: str) -> tuple[int | None, str]:
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
    except FileNotFoundError:
        return None, ""
    output, _ = await process.communicate()
    return process.returncode, output.decode(errors="replace")
