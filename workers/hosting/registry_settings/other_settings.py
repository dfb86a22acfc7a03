"""The person's settings of npm, cargo, Go and Maven, and their netrc."""

import base64
import binascii
import json
import netrc
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

from activities.ports.registry_access import Credential, ToolSettings
from workers.hosting.registry_settings.python_settings import FOLDER
from workers.hosting.registry_settings.setting_files import (
    Person,
    bare,
    basic,
    header,
    place_of,
    table,
    tables,
)

_NPM_SECRET: Final = re.compile(r"//([^/]+)(?:/.*)?:(_authToken|_auth|username|_password)")
_GO: Final = ("GOPROXY", "GONOPROXY", "GOPRIVATE", "GOSUMDB", "GONOSUMDB", "GOINSECURE")
_CARGO_VALUES: Final = ("index", "registry", "replace-with", "directory", "local-registry", "git")
_MIRROR: Final = re.compile(r"<mirror>(.*?)</mirror>", re.DOTALL)
_COMMENT: Final = re.compile(r"<!--.*?-->", re.DOTALL)


def npm_settings(person: Person) -> ToolSettings:
    """Return npm's registries, also for scopes. Source: npm's documentation, "npmrc"."""
    said: dict[str, str] = {}
    named = person.variables.get("NPM_CONFIG_USERCONFIG") or "~/.npmrc"
    for text in person.text("etc/npmrc", named):
        for line in text.splitlines():
            key, equals, value = line.partition("=")
            if equals and not line.lstrip().startswith((";", "#")):
                said[key.strip()] = person.expanded(value.strip().strip("\"'"))
    for name, value in person.variables.items():
        if name.lower() == "npm_config_registry" and value:
            said["registry"] = value
    kept = {key: bare(v) for key, v in said.items() if key == "registry" or _is_scope(key)}
    if not kept:
        return ToolSettings(credentials=tuple(_npm_credentials(said)))
    path = f"{FOLDER}/npmrc"
    return ToolSettings(
        variables={"npm_config_userconfig": (path,)},
        files={path: "".join(f"{key}={value}\n" for key, value in kept.items())},
        credentials=tuple(_npm_credentials(said)),
    )


def _is_scope(key: str) -> bool:
    return key.startswith("@") and key.endswith(":registry")


def _npm_credentials(said: dict[str, str]) -> Iterator[Credential]:
    found: dict[str, dict[str, str]] = {}
    for key, value in said.items():
        if match := _NPM_SECRET.fullmatch(key):
            found.setdefault(match[1], {})[match[2]] = value
    for authority, parts in found.items():
        place = place_of(f"https://{authority}/")
        if place is None:
            continue
        if token := parts.get("_authToken"):
            yield header(place, "npm", f"Bearer {token}", (token,))
        elif coded := parts.get("_auth"):
            yield header(place, "npm", f"Basic {coded}", (coded,))
        elif {"username", "_password"} <= parts.keys():
            yield basic(place, "npm", parts["username"], _decoded(parts["_password"]))


def _decoded(text: str) -> str:
    try:
        return base64.b64decode(text, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return text


def cargo_settings(person: Person) -> ToolSettings:
    """Return cargo's registries and source replacements, as a file that cargo finds at the root.

    Source: The Cargo Book, "Configuration".
    """
    home = Path(person.variables.get("CARGO_HOME") or person.home / ".cargo")
    found = tables(person.text(home / "config", home / "config.toml"))
    lines = [line for one in found for line in _cargo_file(one)]
    files = {"/.cargo/config.toml": "".join(f"{line}\n" for line in lines)} if lines else {}
    indexes = {
        name: str(table(entry).get("index", ""))
        for one in found
        for name, entry in table(one.get("registries")).items()
    }
    for name, value in person.variables.items():
        if match := re.fullmatch(r"CARGO_REGISTRIES_(\w+)_INDEX", name):
            indexes[match[1].lower().replace("_", "-")] = value
    kept = tables(person.text(home / "credentials", home / "credentials.toml"))
    return ToolSettings(files=files, credentials=tuple(_cargo_credentials(kept, indexes)))


def _cargo_file(one: dict[str, object]) -> Iterator[str]:
    for section in ("source", "registries"):
        for name, entry in table(one.get(section)).items():
            yield f"[{section}.{json.dumps(name)}]"
            yield from _cargo_lines(table(entry))
    default = table(one.get("registry")).get("default")
    if isinstance(default, str):
        yield from ("[registry]", f"default = {json.dumps(default)}")


def _cargo_credentials(
    kept: list[dict[str, object]], indexes: dict[str, str]
) -> Iterator[Credential]:
    for one in kept:
        for name, entry in table(one.get("registries")).items():
            token, place = table(entry).get("token"), place_of(indexes.get(name, ""))
            if isinstance(token, str) and place is not None:
                yield header(place, "cargo", token, (token.removeprefix("Bearer "),))


def _cargo_lines(entry: dict[str, object]) -> Iterator[str]:
    for key in _CARGO_VALUES:
        if isinstance(value := entry.get(key), str):
            yield f"{key} = {json.dumps(bare(value))}"


def go_settings(person: Person) -> ToolSettings:
    """Return where Go downloads modules, from its `env` file and the variables."""
    said: dict[str, str] = {}
    for text in person.text(person.variables.get("GOENV") or person.config / "go/env"):
        pairs = (line.partition("=") for line in text.splitlines())
        said |= {name: value for name, _, value in pairs if name in _GO}
    said |= {name: person.variables[name] for name in _GO if person.variables.get(name)}
    return ToolSettings(variables={name: (bare(value),) for name, value in said.items() if value})


def maven_settings(person: Person, proxy: tuple[str, int]) -> ToolSettings:
    """Return Maven's mirrors, and the proxy, which Maven does not read from the environment.

    Args:
        person: whose settings are read.
        proxy: host and port of the proxy inside the sandbox.
    """
    texts = person.text("~/.m2/settings.xml")
    mirrors = [each for text in texts for each in _MIRROR.findall(_COMMENT.sub("", text))]
    kept = "".join(f"<mirror>{''.join(_mirror_parts(each))}</mirror>" for each in mirrors)
    host, port = proxy
    proxies = "".join(
        f"<proxy><id>{kind}</id><protocol>{kind}</protocol><host>{host}</host>"
        f"<port>{port}</port></proxy>"
        for kind in ("http", "https")
    )
    path = f"{FOLDER}/settings.xml"
    text = f"<settings><mirrors>{kept}</mirrors><proxies>{proxies}</proxies></settings>\n"
    return ToolSettings(variables={"MAVEN_ARGS": (f"-s {path}",)}, files={path: text})


def _mirror_parts(mirror: str) -> Iterator[str]:
    for name in ("id", "mirrorOf", "url"):
        if match := re.search(rf"<{name}>\s*([^<]*?)\s*</{name}>", mirror):
            value = bare(match[1])
            yield f"<{name}>{value if '&' in value else escape(value)}</{name}>"


def netrc_credentials(person: Person) -> dict[str, tuple[str, str]]:
    """Return name and password of each machine in the netrc; empty if it cannot be read."""
    path = person.path(person.variables.get("NETRC") or "~/.netrc")
    try:
        hosts = netrc.netrc(str(path)).hosts
    except (OSError, netrc.NetrcParseError, UnicodeDecodeError):
        return {}
    return {host: (entry[0], entry[2]) for host, entry in hosts.items() if entry[2]}
