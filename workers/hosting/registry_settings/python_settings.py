"""The person's settings of pip and uv."""

import configparser
from collections.abc import Iterable, Iterator
from typing import Final

from activities.ports.registry_access import Credential, ToolSettings, local_place
from workers.hosting.registry_settings.setting_files import (
    Person,
    bare,
    credential_of,
    items,
    table,
    tables,
)

FOLDER: Final = "/etc/registries"
_LISTS: Final = ("index-url", "extra-index-url", "find-links", "trusted-host")
_SECTIONS: Final = ("global", "install")
_UV: Final = ("UV_DEFAULT_INDEX", "UV_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS")


def pip_settings(person: Person) -> ToolSettings:
    """Return pip's indexes and constraints: variables, then the user's files, then all users'.

    Source: pip's documentation, "Configuration".
    """
    said = pip_values(person)
    words = {key: said[key].split() for key in _LISTS if said.get(key)}
    variables = {
        f"PIP_{key.upper().replace('-', '_')}": tuple(map(bare, each))
        for key, each in words.items()
    }
    if said.get("no-index", "").lower() in {"1", "true", "yes", "on"}:
        variables["PIP_NO_INDEX"] = ("1",)
    files: dict[str, str] = {}
    for number, name in enumerate(said.get("constraint", "").split()):
        place = local_place(name)
        for text in person.text(place):
            files[f"{FOLDER}/constraints-{number}.txt"] = bare(text)
    if files:
        variables["PIP_CONSTRAINT"] = tuple(files)
    found = (word for each in words.values() for word in each)
    return ToolSettings(variables=variables, files=files, credentials=_credentials(found, "pip"))


def pip_values(person: Person) -> dict[str, str]:
    """Return pip's settings by key; the last file or variable that sets a key counts."""
    named = person.variables.get("PIP_CONFIG_FILE")
    texts = person.text(
        "etc/xdg/pip/pip.conf", "etc/pip.conf", "~/.pip/pip.conf", person.config / "pip/pip.conf",
        named,
    )  # fmt: skip
    said: dict[str, str] = {}
    for text in texts:
        parser = configparser.RawConfigParser(strict=False)
        try:
            parser.read_string(text)
        except configparser.Error:
            continue
        for section in filter(parser.has_section, _SECTIONS):
            said |= dict(parser.items(section))
    for name, value in person.variables.items():
        if name.startswith("PIP_") and value:
            said[name.removeprefix("PIP_").lower().replace("_", "-")] = value
    return said


def uv_settings(person: Person) -> ToolSettings:
    """Return uv's indexes; uv reads none of pip's. Source: uv's documentation, "Settings"."""
    said: dict[str, list[str]] = {}
    for one in tables(person.text("etc/uv/uv.toml", person.config / "uv/uv.toml")):
        for name, word in (*_of_uv_table(one), *_of_uv_table(table(one.get("pip")))):
            said.setdefault(name, []).append(word)
    for name in _UV:
        if value := person.variables.get(name):
            said[name] = value.split("," if name == "UV_FIND_LINKS" else None)
    variables = {name: tuple(map(bare, words)) for name, words in said.items()}
    found = (
        word.partition("=")[2] if _has_name(word) else word for w in said.values() for word in w
    )
    return ToolSettings(
        variables=variables,
        separators={"UV_FIND_LINKS": ","},
        credentials=(*_credentials(found, "uv"),),
    )


def _has_name(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return bool(equals) and "/" not in name


def _of_uv_table(one: dict[str, object]) -> Iterator[tuple[str, str]]:
    for index in map(table, items(one.get("index"))):
        url, name = index.get("url"), index.get("name")
        if isinstance(url, str):
            if index.get("default") is True:
                yield "UV_DEFAULT_INDEX", url
            else:
                yield "UV_INDEX", f"{name}={url}" if isinstance(name, str) else url
    for key in ("index-url", "extra-index-url", "find-links"):
        for word in items(one.get(key)):
            if isinstance(word, str):
                yield f"UV_{key.upper().replace('-', '_')}", word


def _credentials(addresses: Iterable[str], source: str) -> tuple[Credential, ...]:
    found = (credential_of(each, source) for each in addresses)
    return tuple(each for each in found if each is not None)
