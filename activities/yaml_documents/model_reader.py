"""YAML documents into frozen models, with line and column in every complaint.

What of YAML is read, `activities.yaml_documents.source_places` says. Here a document is judged by a
model: each wrong value is told with its place, and an unknown key is refused with the nearest known
one named. It reads no file.
"""

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from types import UnionType
from typing import Annotated, Generic, NamedTuple, TypeVar, Union, get_args, get_origin

from pydantic import AliasChoices, BaseModel, ValidationError
from pydantic_core import ErrorDetails

from activities.yaml_documents.source_places import DocumentError, Loc, Places, Source
from activities.yaml_documents.value_wording import brief, printable, word

__all__ = [
    "Complaint",
    "Document",
    "DocumentError",
    "complaints",
    "parse_document",
    "read_document",
]

MAX_COMPLAINTS = 10

M = TypeVar("M", bound=BaseModel)


class Document(NamedTuple, Generic[M]):
    """What was read, and where."""

    value: M
    places: Places


class Complaint(NamedTuple):
    """One thing that is wrong with a document."""

    loc: Loc
    text: str
    """Path, what is wrong, what to write instead."""


def parse_document(
    model: type[M],
    text: str,
    name: str,
    context: Mapping[str, object] | None = None,
    *,
    keeps_halves: bool = False,
) -> M:
    """Read one YAML (or JSON) document as `model`.

    Args:
        model: what the document must be; it should forbid extra keys.
        text: the whole document.
        name: how messages call it, usually its path.
        context: what validators of the model are told; None: nothing.
        keeps_halves: a value may hold half of a surrogate pair, for what plays a model that sends
            one.

    Raises:
        DocumentError: it is not YAML, or no `model`; up to ten complaints, one a line.
    """
    return read_document(model, text, name, context, keeps_halves=keeps_halves).value


def read_document(
    model: type[M],
    text: str,
    name: str,
    context: Mapping[str, object] | None = None,
    *,
    keeps_halves: bool = False,
) -> Document[M]:
    """Do the same, and say where each key stands.

    Raises:
        DocumentError: it is not YAML, or no `model`; up to ten complaints, one a line.
    """
    source = Source(name, keeps_halves=keeps_halves)
    data = source.read(text)
    try:
        return Document(model.model_validate(data, context=context), source.places)
    except ValidationError as error:
        found = complaints(source, model, error)
        lines = [f"{source.place(each.loc)}: {each.text}" for each in found[:MAX_COMPLAINTS]]
        if len(found) > MAX_COMPLAINTS:
            lines.append(f"{name}: and {len(found) - MAX_COMPLAINTS} more")
        raise DocumentError("\n".join(lines)) from None


def complaints(source: Source, model: type[BaseModel], error: ValidationError) -> list[Complaint]:
    """Return all that is wrong with what was read as `model`, in its order.

    Args:
        source: what the document was read by.
        model: what it should be.
        error: why it is not.
    """
    found = _causes(error.errors(include_url=False))
    return [Complaint(item["loc"], _complaint(source, model, item)) for item in found]


def _causes(found: Sequence[ErrorDetails]) -> list[ErrorDetails]:
    """Leave out that a list is too short where that is only because its items were refused."""
    deeper = {item["loc"][:n] for item in found for n in range(len(item["loc"]))}
    return [item for item in found if item["type"] != "too_short" or item["loc"] not in deeper]


def _complaint(source: Source, model: type[BaseModel], item: ErrorDetails) -> str:
    """Word one pydantic error: path, what is wrong, what to write instead."""
    loc = item["loc"]
    if item["type"] == "extra_forbidden":
        message = _unknown_key(model, loc)
    else:
        message = f"{word(item)}{_keys_of_section(model, item)}"
    path = ".".join(printable(f"{part!s:.60}") for part in source.known(loc)) or "the document"
    return f"{path}: {message}"


def _keys_of_section(model: type[BaseModel], item: ErrorDetails) -> str:
    """Name the keys of a section that was given as something else; of the whole there are many."""
    if item["type"] not in {"model_type", "model_attributes_type"} or not item["loc"]:
        return ""
    known = sorted({name for owner in _owners(model, item["loc"]) for name in _keys(owner)})
    return f"; its keys are {', '.join(known)}" if known else ""


def _unknown_key(model: type[BaseModel], loc: Loc) -> str:
    key = str(loc[-1])
    known = sorted({name for owner in _owners(model, loc[:-1]) for name in _keys(owner)})
    near = get_close_matches(unicodedata.normalize("NFKC", key), known, n=1)
    advice = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"
    return f"unknown key {brief(key)}{_strangers(key)}; {advice}"


def _strangers(key: str) -> str:
    """Name the characters that a reader could take for other letters, or not see."""
    strange = [f"U+{ord(each):04X}" for each in dict.fromkeys(key) if not each.isascii()]
    return f" (it is written with {', '.join(strange[:3])})" if strange else ""


def _keys(model: type[BaseModel]) -> Iterator[str]:
    """The keys as the document spells them."""
    for name, field in model.model_fields.items():
        alias = field.validation_alias
        first = alias.choices[0] if isinstance(alias, AliasChoices) else alias
        yield first if isinstance(first, str) else name


def _owners(model: type[BaseModel], loc: Loc) -> list[type[BaseModel]]:
    """The models that may stand at `loc`; several where the type there is a union."""
    here: list[object] = [model]
    for part in loc:
        reached = [inner for kind in here for inner in _step(kind, part)]
        here = reached or here
    return [kind for outer in here for kind in _models(outer)]


def _step(kind: object, part: int | str) -> list[object]:
    if get_origin(kind) in {Annotated, Union, UnionType}:
        return [inner for arg in get_args(kind) for inner in _step(arg, part)]
    found: list[object] = []
    for model in _models(kind):
        field = model.model_fields.get(str(part))
        if field is not None:
            found.append(field.annotation)
    if get_origin(kind) in {tuple, list, dict}:
        found.extend(get_args(kind))
    return found


def _models(kind: object) -> list[type[BaseModel]]:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return [kind]
    if get_origin(kind) in {tuple, list, dict}:
        return []
    return [model for arg in get_args(kind) for model in _models(arg)]
