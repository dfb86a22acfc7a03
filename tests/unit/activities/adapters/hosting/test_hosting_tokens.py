"""Where a token is taken from: the variables first, then what `gh` or `glab` is logged in with."""

from pathlib import Path

import pytest

from activities.adapters.hosting.hosting_tokens import read_token
from activities.ports.land.hosting_entries import Api, HostingEntry, HostingService
from activities.ports.land.hosting_port import HostingRefusedError

STAND_IN = """#!/bin/sh
# Stands in for {name}: it is logged in to git.example alone.
echo "$@" >> "{calls}"
[ "$*" = "{expected}" ] && echo from-{name} && exit 0
echo "not logged in" >&2
exit 1
"""
EXPECTED: dict[Api, tuple[str, str]] = {
    "github": ("gh", "auth token --hostname git.example"),
    "gitlab": ("glab", "config get token --host git.example"),
}


def service(api: Api, host: str = "git.example") -> HostingService:
    """Return a service of an API."""
    return HostingEntry(repositories=("*",), api=api).at(host)


def stand_in(folder: Path, api: Api) -> dict[str, str]:
    """Put a stand-in for the API's program on a PATH of its own; return the environment."""
    name, expected = EXPECTED[api]
    place = folder / name
    text = STAND_IN.format(name=name, expected=expected, calls=folder / "calls")
    place.write_text(text)
    place.chmod(0o755)
    return {"PATH": str(folder), "HOME": str(folder)}


@pytest.mark.parametrize("api", ["github", "gitlab"])
async def test_a_logged_in_program_is_asked_for_the_token(tmp_path: Path, api: Api):
    environment = stand_in(tmp_path, api)
    name, expected = EXPECTED[api]
    assert await read_token(service(api), environment) == f"from-{name}"
    assert (tmp_path / "calls").read_text() == f"{expected}\n"


@pytest.mark.parametrize("api", ["github", "gitlab"])
async def test_a_variable_comes_first(tmp_path: Path, api: Api):
    environment = stand_in(tmp_path, api)
    variable = service(api).tokens[0]
    assert await read_token(service(api), {**environment, variable: " mine "}) == "mine"
    assert not (tmp_path / "calls").exists()


@pytest.mark.parametrize("api", ["github", "gitlab", "gitea"])
async def test_without_any_the_error_says_what_to_set(tmp_path: Path, api: Api):
    other = service(api, "other.example")
    environment = {"PATH": str(tmp_path)} if api == "gitea" else stand_in(tmp_path, api)
    with pytest.raises(HostingRefusedError, match=f"set {' or '.join(other.tokens)} where"):
        await read_token(other, environment)


@pytest.mark.parametrize("token", ["two words", "line\nbreak", "snö"])
async def test_a_value_that_is_no_token_is_not_sent_and_not_shown(tmp_path: Path, token: str):
    with pytest.raises(HostingRefusedError) as caught:
        await read_token(service("gitea"), {"GITEA_TOKEN": token, "PATH": ""})
    assert token not in str(caught.value)
