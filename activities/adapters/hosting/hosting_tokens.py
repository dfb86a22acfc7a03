"""Where the token of a hosting service is: a variable, or what `gh` or `glab` is logged in with.

It is read again for each request of an activity's start, so a new login takes effect at once. A
token is never stored, logged, or put into an argument.
"""

import asyncio
import shutil
from collections.abc import Mapping
from typing import Final

from activities.ports.land.hosting_entries import Api, HostingService
from activities.ports.land.hosting_port import HostingRefusedError
from activities.process_end import end_child

_SECONDS: Final = 20.0
_MOST: Final = 10_000
_COMMANDS: Final[Mapping[Api, tuple[str, ...]]] = {
    "github": ("gh", "auth", "token", "--hostname"),
    "gitlab": ("glab", "config", "get", "token", "--host"),
}


async def read_token(service: HostingService, environment: Mapping[str, str]) -> str:
    """Return the token of a service.

    Args:
        service: the service.
        environment: this process's.

    Raises:
        HostingRefusedError: there is none.
    """
    _, token = await _found(service, environment)
    return token


async def token_source(service: HostingService, environment: Mapping[str, str]) -> str:
    """Return where the token of a service comes from: a variable, or `gh` or `glab`.

    Raises:
        HostingRefusedError: there is none.
    """
    source, _ = await _found(service, environment)
    return source


async def _found(service: HostingService, environment: Mapping[str, str]) -> tuple[str, str]:
    for name in service.tokens:
        if token := environment.get(name, "").strip():
            return name, _sendable(token, service)
    if token := await _logged_in(service, environment):
        return f"`{' '.join(_COMMANDS[service.api][:-1])}`", _sendable(token, service)
    names = " or ".join(service.tokens)
    login = {"github": ", or log in with `gh auth login`", "gitlab": ", or with `glab auth login`"}
    raise HostingRefusedError(
        f"there is no token for {service.host!r}: set {names} where the workers are started"
        f"{login.get(service.api, '')}, and start them again"
    )


def _sendable(token: str, service: HostingService) -> str:
    if not (token.isascii() and token.isprintable() and " " not in token):
        raise HostingRefusedError(
            f"the token for {service.host!r} holds spaces, line breaks or other signs that no "
            "token has"
        )
    return token


async def _logged_in(service: HostingService, environment: Mapping[str, str]) -> str:
    """Return what the service's own program is logged in with; empty without it."""
    command = _COMMANDS.get(service.api, ())
    program = shutil.which(command[0], path=environment.get("PATH", "")) if command else None
    if program is None:
        return ""
    process = await asyncio.create_subprocess_exec(
        program,
        *command[1:],
        service.host,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=dict(environment),
        process_group=0,
    )
    try:
        async with asyncio.timeout(_SECONDS):
            output, _ = await process.communicate()
    except TimeoutError:
        return ""
    finally:
        await end_child(process, has_group=True)
    is_usable = process.returncode == 0 and len(output) < _MOST
    return output.decode("utf-8", "replace").strip() if is_usable else ""
