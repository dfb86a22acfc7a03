"""Migrates older versions of `blueflame.yaml` to the one that this release reads.

Each step leads from one version to the next and changes the document in place, so that comments and
order stay. A file without the key `version` is version 0, as files written by hand often are. Reads
and writes no disk.
"""

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Final, NamedTuple, cast

from pydantic import JsonValue

from activities.yaml_documents.source_places import DocumentError, Source
from activities.yaml_documents.value_wording import brief
from starter.configuration.configuration_errors import ConfigurationError
from starter.configuration.file_shape import VERSION

_WIDEST: Final = 100_000
"""Keep long lines unfolded."""


_Step = Callable[[MutableMapping[str, JsonValue]], None]
"""Changes the document. It also runs on the bare values, to check that nothing else has changed."""


class Migrated(NamedTuple):
    """A file in this release's version."""

    text: str
    """The old text itself if nothing had to change."""
    before: int
    """The version that it had."""


def migrate(text: str, name: str) -> Migrated:
    """Bring a file to this release's version, with its comments.

    Args:
        text: the whole file.
        name: the file's name in messages.

    Raises:
        ConfigurationError: it is not a mapping in YAML, or has a newer version; with its place.
    """
    source = Source(name)
    try:
        data = source.read(text)
    except DocumentError as error:
        raise ConfigurationError(str(error)) from error
    if not isinstance(data, dict):
        raise ConfigurationError(
            f"{name}:1:1: no mapping of keys to values; there is nothing to migrate"
        )
    before = _version(data.get("version"), source)
    if before == VERSION:
        return Migrated(text, before)
    steps = [_STEPS[version] for version in range(before, VERSION)]
    written = _rewritten(text, steps)
    for step in steps:
        step(data)
    if written is None or Source(name).read(written) != data:
        raise ConfigurationError(
            f"{name}:1:1: cannot be rewritten without a change of what it says; write "
            f"'version: {VERSION}' yourself, and see 'blueflame config check'"
        )
    return Migrated(written, before)


def _version(value: object, source: Source) -> int:
    if value is None:
        return 0
    if type(value) is int and value in {*_STEPS, VERSION}:
        return value
    known = ", ".join(map(str, (*_STEPS, VERSION)))
    raise ConfigurationError(
        f"{source.place(('version',))}: version: {brief(value)} is not one of {known}; update Blue "
        "Flame, or write the file again by 'blueflame config schema'"
    )


def _rewritten(text: str, steps: Sequence[_Step]) -> str | None:
    """Return the text after these steps; None if the comment-keeping library cannot read it."""
    from io import StringIO

    from ruamel.yaml import YAML, YAMLError, util
    from ruamel.yaml.comments import CommentedMap

    yaml = YAML(typ="rt", pure=True)
    yaml.preserve_quotes = True
    yaml.width = _WIDEST
    yaml.composer.warn_double_anchors = False
    plain = text.replace("\r\n", "\n")
    try:
        document, indent, offset = cast(
            "tuple[CommentedMap, int | None, int | None]",
            util.load_yaml_guess_indent(plain, yaml=yaml),
        )
    except (YAMLError, ArithmeticError, LookupError, ValueError):  # a tag that does not fit
        return None
    if indent is not None:
        yaml.indent(mapping=indent, sequence=indent, offset=offset or 0)
    for step in steps:
        step(document)
    document.move_to_end("version", last=False)
    out = StringIO()
    yaml.dump(document, out)
    ending = "\r\n" if "\r\n" in text else "\n"
    return out.getvalue().replace("\n", ending)


def _name_the_version(document: MutableMapping[str, JsonValue]) -> None:
    """0 to 1: add the file's version."""
    document["version"] = 1


_STEPS: Final[Mapping[int, _Step]] = {0: _name_the_version}
"""By the version from which a step starts."""
