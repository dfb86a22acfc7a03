"""Options and messages of `simulate --record`: providers' addresses in, lines for a person out."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from starter.console.command_errors import CommandError
from starter.console.terminal import shown

if TYPE_CHECKING:
    from workers.local.playbook_server import Recorded

_VARIABLES: Final = {
    "anthropic": ("ANTHROPIC_BASE_URL", ""),
    "openai": ("OPENAI_BASE_URL", "/v1"),
    "google": ("GOOGLE_GEMINI_BASE_URL", ""),
}
"""How a session is given a provider's address, and the path after the recorder's address."""


def require_place(path: Path, *, force: bool) -> None:
    """Refuse a file that exists, or that could not be written.

    Raises:
        CommandError: with what to do about it.
    """
    if path.is_dir():
        raise CommandError(f"playbook {str(path)!r} is a folder; name a file in it")
    if path.exists() and not force:
        raise CommandError(f"{str(path)!r} exists already; --force overwrites it")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise CommandError(
            f"{str(path)!r} cannot be written; its folder must exist and be writable"
        )


def given_addresses(given: Sequence[str]) -> dict[str, str]:
    """Parse the values of `--to`.

    Args:
        given: each `NAME=URL`.

    Raises:
        CommandError: one of them is not an address.
    """
    return dict(_address(each) for each in given)


def _address(given: str) -> tuple[str, str]:
    from pydantic import BaseModel, ValidationError

    from activities.ports.endpoints import ProviderEntry
    from workflows.domain.agent.model_values import Provider

    class Named(BaseModel):
        name: Provider
        entry: ProviderEntry

    name, _, url = given.partition("=")
    try:
        Named.model_validate({"name": name, "entry": {"base_url": url}})
    except ValidationError:
        # The value may hold a key, so the message does not repeat it all.
        raise CommandError(
            f"--to {name!r} has no valid address; write --to NAME=https://host/path, without user "
            "and query, NAME being anthropic, openai, google or a provider that you configured"
        ) from None
    return name, url


def refuse_itself(own: Sequence[str]) -> None:
    """Refuse providers whose address is the recorder's own.

    Raises:
        CommandError: there are some.
    """
    for name in own:
        variable = _VARIABLES[name][0] if name in _VARIABLES else "its address"
        raise CommandError(
            f"{name!r} points to the recorder itself; unset {variable} here, or give "
            f"its real address with --to {name}=URL"
        )


def begun(path: str, url: str, addresses: Mapping[str, str]) -> list[str]:
    """Return the lines printed before the recorder serves."""
    lines = [f"RECORDING: what passes {url} is written to {shown(path)}; Ctrl-C ends it"]
    told = {name: _told(name, url) for name in addresses}
    width = max(map(len, told.values()))
    return [
        *lines,
        *(f"  {told[name]:{width}}  goes on to {shown(to)}" for name, to in addresses.items()),
    ]


def _told(name: str, url: str) -> str:
    if name in _VARIABLES:
        variable, path = _VARIABLES[name]
        return f"{variable}={url}{path}"
    return f"{name}: base_url: {url}/{name}/v1"


def ended(path: str, recorded: "Recorded") -> list[str]:
    """Return the lines printed after everything is saved."""
    if recorded.turns == 0:
        return ["nothing was recorded: no request of an agent was answered"]
    return [
        f"{shown(path)}: recorded; turns {recorded.turns}, agents {recorded.agents}",
        *map(shown, _lacking(recorded)),
    ]


def _lacking(recorded: "Recorded") -> Iterator[str]:
    for place in recorded.failing:
        yield f"Note       {place} failed each time, and fails each time in a replay"
    for place in recorded.missing:
        yield f"Note       {place} was not recorded; a replay that gets there has no answer"
