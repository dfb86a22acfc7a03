"""Generate docs/{configuration,commands,metrics,events}.md and the JSON Schema of `blueflame.yaml`.

Commands are described by their own help. Names, values and defaults of the configuration come from
the models that read them. The meanings of keys come from `starter.configuration.key_meanings`, and
the rest of the text from `scripts/docs_text.py`. A key without a meaning, or a meaning without a
key, is an error.
"""

import sys
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, cast, get_args, get_origin

import typer
from pydantic import BaseModel, BeforeValidator
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined
from typer.cli import get_docs_for_click
from typer.main import get_command

from activities.gates import gitleaks
from activities.ports.land.hosting_entries import RepositoryPattern
from scripts.docs_text import COMMANDS, EVENTS_TEXT, METRICS, POLICY, RULES, TEXT, VARIABLES
from starter import cli
from starter.configuration import file_shape as file
from starter.configuration import json_schema
from starter.configuration import value_types as values
from starter.configuration.key_meanings import MEANINGS
from starter.configuration.written_values import flow, spelled
from starter.console.program_name import NAME
from workers.settings import Settings
from workers.telemetry import metric_table
from workflows.domain.agent.model_values import BUILT_IN
from workflows.domain.agent.tool_policy import RULE_NAMES
from workflows.domain.session.session_config import SessionConfig
from workflows.policy.text.log_events import EVENTS

DOCS = Path(__file__).resolve().parents[1] / "docs"

_DEFAULTS = {
    "version": "",
    "models.planner": "[by your keys](#default-models)",
    "models.developer": "[by your keys](#default-models)",
    "models.reviewer": "[by your keys](#default-models)",
    "providers": "",
    "environment.variables": "",
    "BLUEFLAME_TOOLCHAINS": "",
    "BLUEFLAME_REGISTRIES": "",
    "catalogue": "",
    "hosting": "",
    "pull_request.target": "",
    "pull_request.follow": "",
    "commits.committer": "",
    "BLUEFLAME_HOSTING": "",
    "gates": "detected",
    "gates.NAME.run": "",
    "BLUEFLAME_DATA_DIR": "the system's directory for application data",
    "BLUEFLAME_HOST_NAME": "generated once",
    "BLUEFLAME_BUILD": "the release and a hash of the workflow code",
}
"""Defaults that no model has: computed ones, and those of keys without a default."""

_JSON = {
    "BLUEFLAME_TOOLCHAINS": "JSON list",
    "BLUEFLAME_REGISTRIES": "JSON object",
    "BLUEFLAME_PROVIDERS": "JSON object",
    "BLUEFLAME_HOSTING": "JSON object",
}
"""Variables whose text is JSON."""

_INTERNAL = frozenset(
    {
        "BLUEFLAME_SERVER",
        "BLUEFLAME_FAIL_POINT",
        "BLUEFLAME_TAKES_NEW",
        "BLUEFLAME_TEMPORAL",
        "BLUEFLAME_TOOL_SETTINGS_FD",
        "BLUEFLAME_ENDPOINT_KEYS",
    }
)
"""Set by Blue Flame's own processes or by tests."""


class Row(NamedTuple):
    """One key or variable."""

    name: str
    values: str
    default: str


def page() -> str:
    """Return the whole page."""
    return TEXT.format(
        keys=_table("key", list(keys()), MEANINGS),
        variables=_table("variable", list(variables()), VARIABLES),
        gitleaks=" ".join(gitleaks.COMMAND),
        policy=POLICY.format(rules=_rules()),
        providers=", ".join(f"`{name}`" for name in BUILT_IN),
    )


def _rules() -> str:
    if missing := set(RULE_NAMES) - set(RULES):
        raise SystemExit(f"scripts/docs.py: {', '.join(sorted(missing))}: say what it denies")
    return "\n".join(
        f"| `{name}` | {denies} | {'yes' if name in RULE_NAMES else 'no'} |"
        for name, denies in RULES.items()
    )


def keys() -> Iterator[Row]:
    """Name each key of `blueflame.yaml`."""
    yield from _keys(file.ConfigurationFile, "", SessionConfig.model_fields)


def variables() -> Iterator[Row]:
    """Name each environment variable that a person may set."""
    for name, field in Settings.model_fields.items():
        alias = field.validation_alias
        variable = alias if isinstance(alias, str) else f"BLUEFLAME_{name.upper()}"
        if variable not in _INTERNAL:
            default = _DEFAULTS.get(variable, _shown(field.get_default()))
            kind = _JSON.get(variable) or _values(field.annotation, field.metadata)
            yield Row(variable, kind, default)


def _keys(model: type[BaseModel], prefix: str, defaults: dict[str, FieldInfo]) -> Iterator[Row]:
    for name, field in model.model_fields.items():
        key = f"{prefix}{_spelled(name, field)}"
        kind, default = _bare(field.annotation), defaults.get(name)
        if kind is file.RoleEntry and default is not None:
            shown = flow(spelled(key, default.get_default()))
            yield Row(key, "mapping", f"`{shown}`")
            continue
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            below: Any = _bare(default.annotation) if default else kind
            yield from _keys(kind, f"{key}.", below.model_fields)
            continue
        shown = _shown((default or field).get_default(call_default_factory=True))
        yield Row(key, _values(field.annotation, field.metadata), _DEFAULTS.get(key, shown))
        entry: Any = _bare(get_args(kind)[1]) if get_origin(kind) is dict else None
        if isinstance(entry, type) and issubclass(entry, BaseModel):
            yield from _keys(entry, f"{key}.NAME.", entry.model_fields)


def _spelled(name: str, field: FieldInfo) -> str:
    alias = field.validation_alias
    return alias if isinstance(alias, str) else name


def _bare(kind: Any) -> Any:
    """Take off `| None` and annotations."""
    if get_origin(kind) is Annotated:
        return _bare(get_args(kind)[0])
    if get_origin(kind) in {Union, UnionType}:
        kinds = [each for each in get_args(kind) if each is not NoneType]
        return _bare(kinds[0]) if len(kinds) == 1 else kind
    return kind


def _values(kind: Any, metadata: list[Any]) -> str:
    bare: Any = _bare(kind)
    origin = get_origin(bare)
    if origin in {Union, UnionType}:
        return ", ".join(_one_of(each) for each in get_args(bare))
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in get_args(bare))
    if origin is tuple:
        return _listed(get_args(bare)[0], metadata)
    if isinstance(bare, type) and issubclass(bare, Enum):
        return ", ".join(f"`{value.value}`" for value in bare)
    names: dict[Any, str] = {
        dict: "mapping",
        bool: "`true`, `false`",
        int: "number",
        Decimal: "amount",
        timedelta: "duration",
        Path: "path",
    }
    return _bounded(names.get(origin or bare, "text"), metadata)


def _one_of(kind: Any) -> str:
    metadata = list(get_args(kind)[1:]) if get_origin(kind) is Annotated else []
    if any(isinstance(each, FieldInfo) for each in metadata):
        metadata = [part for each in metadata for part in each.metadata]
    return _values(kind, metadata)


_ITEMS: list[tuple[Any, str]] = [
    (values.Command, "commands"),
    (values.CheckedPath, "path patterns"),
    (values.CheckedCommand, "command patterns"),
    (values.CheckedHost, "hosts"),
    (values.RegistryEntry, "registries"),
    (values.ToolchainPath, "paths"),
    (RepositoryPattern, "repositories"),
]


def _listed(item: Any, metadata: list[Any]) -> str:
    if any(isinstance(each, BeforeValidator) for each in metadata):
        return "command"
    if get_origin(item) is Literal:
        return f"list of {', '.join(f'`{value}`' for value in get_args(item))}"
    if isinstance(item, type) and issubclass(item, Enum):
        return f"list of {', '.join(f'`{value.value}`' for value in item)}"
    named = (name for kind, name in _ITEMS if item == kind)
    return f"list of {next(named, 'paths' if get_origin(item) is not Annotated else 'models')}"


def _bounded(name: str, metadata: list[Any]) -> str:
    low = next((each.ge for each in metadata if hasattr(each, "ge")), None)
    high = next((each.le for each in metadata if hasattr(each, "le")), None)
    over = next((each.gt for each in metadata if hasattr(each, "gt")), None)
    if over is not None:
        return f"{name} above {over}"
    if low is not None and low == high:
        return f"{low}"
    if high is not None:
        return f"{low} to {high}"
    return f"{name} from {low}" if low is not None else name


def _shown(value: object) -> str:
    if value is None or value is PydanticUndefined:
        return ""
    if isinstance(value, timedelta):
        return f"`{int(value.total_seconds()) // 60}m`"
    if isinstance(value, tuple):
        return f"`[{', '.join(cast('tuple[str, ...]', value))}]`"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{value}`"


def _table(title: str, rows: list[Row], meanings: dict[str, str]) -> str:
    names = [row.name for row in rows]
    if missing := sorted(set(names) ^ set(meanings)):
        raise SystemExit(f"scripts/docs.py: {', '.join(missing)}: give it a meaning, or drop it")
    lines = [f"| {title} | values | default | meaning |", "|---|---|---|---|"]
    lines += [
        f"| `{row.name}` | {row.values} | {row.default} | {meanings[row.name]} |" for row in rows
    ]
    return "\n".join(lines)


def commands_page() -> str:
    """Return docs/commands.md."""
    command = get_command(cli.app)
    context = typer.Context(command, info_name=NAME)
    text = get_docs_for_click(obj=command, ctx=context, name=NAME, title="Commands and options")
    return text.replace("\n\n", f"\n\n{COMMANDS}\n\n", 1).rstrip() + "\n"


def metrics_page() -> str:
    """Return docs/metrics.md."""
    metrics = [
        f"| `{each.name}` | {each.kind} | {', '.join(f'`{label}`' for label in each.labels)} "
        f"| {each.meaning} |"
        for each in metric_table.METRICS
    ]
    closed = {
        name: ", ".join(f"`{value}`" for value in sorted(values))
        for name, values in metric_table.CLOSED.items()
    }
    bounds = closed | {name: f"{most} names" for name, most in metric_table.MOST.items()}
    labels = [f"| `{name}` | {bounds[name]} |" for name in sorted(bounds)]
    head = ["| metric | kind | labels | meaning |", "|---|---|---|---|"]
    last = ["", "## Labels", "", "| label | values |", "|---|---|"]
    return "\n".join([METRICS, *head, *metrics, *last, *labels, ""])


def events_page() -> str:
    """Return docs/events.md."""
    rows = [
        f"| `{each.name}` | {each.level} | {', '.join(f'`{n}`' for n in sorted(each.fields))} "
        f"| {each.meaning} |"
        for each in sorted(EVENTS)
    ]
    head = ["| event | level | fields | meaning |", "|---|---|---|---|"]
    return "\n".join([EVENTS_TEXT, *head, *rows, ""])


def main() -> int:
    """Write all files, or compare them with `--check`."""
    wanted = {
        "configuration.md": page(),
        "commands.md": commands_page(),
        "metrics.md": metrics_page(),
        "events.md": events_page(),
        "blueflame.schema.json": json_schema.text(),
    }
    if "--check" not in sys.argv[1:]:
        for name, text in wanted.items():
            (DOCS / name).write_text(text, encoding="utf-8")
        return 0
    wrong = [name for name in wanted if (DOCS / name).read_text(encoding="utf-8") != wanted[name]]
    for name in wrong:
        print(f"docs/{name} differs from the code: run scripts/docs")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
