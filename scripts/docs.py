"""Generate docs/configuration.md: every key of blueflame.yaml and every environment variable.

Names, values and defaults come from the models that read them; only what a key means is written
here, and a key without a meaning, or a meaning without a key, is an error.
"""

import sys
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, cast, get_args, get_origin

from pydantic import AliasChoices, BaseModel, BeforeValidator
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from starter import configuration_file as file
from workers.settings import Settings
from workflows.domain.config import SessionConfig
from workflows.domain.tool_policy import RULE_NAMES

PAGE = Path(__file__).resolve().parents[1] / "docs" / "configuration.md"

MEANINGS = {
    "version": "the version of this file's format; the only key that must be there",
    "pacing": "when dependants start: after the merge of a whole wave, or as soon as their "
    "dependencies are validated ([concepts](concepts.md#the-two-pacings))",
    "approvals.plan": "who approves the plan",
    "approvals.changeset": "who approves a changeset",
    "concurrency.plan": "agents that plan at once",
    "concurrency.develop": "agents that develop at once",
    "concurrency.validate": "tasks that are validated at once",
    "concurrency.merge": "merge waves at once",
    "models.planner": "models of the planner, the first that can be used",
    "models.developer": "models of the developers",
    "models.reviewer": "models of the reviewers; at least one of another family than the "
    "developers",
    "providers": "compatible servers by a name of yours, and time limits of built-in providers "
    "([providers](providers.md)); refused in a file that was found in the repository",
    "providers.NAME.base_url": "its Chat Completions interface, as in `http://127.0.0.1:11434/v1`",
    "providers.NAME.key": "the environment variable that holds its key; left out: it wants none",
    "providers.NAME.family": "who made its models; left out: the provider's name",
    "providers.NAME.abilities.tool_calls": "`false`: no role can use it",
    "providers.NAME.abilities.parallel_tool_calls": "`false`: it is told of one call at a time",
    "providers.NAME.abilities.system_role": "who says the instructions; `user`: they open the "
    "first message",
    "providers.NAME.abilities.reasoning_effort": "sent as it stands; left out: not sent",
    "providers.NAME.abilities.reasoning_replay": "`true`: a model's own turns go back as they "
    "came, its reasoning included",
    "providers.NAME.abilities.max_output_field": "what the server calls the limit of an answer",
    "providers.NAME.abilities.streaming": "`false`: answers are asked for whole",
    "providers.NAME.abilities.prompt_caching": "`true`: one `prompt_cache_key` is sent for each "
    "agent",
    "providers.NAME.timeout_s": "how long one call may take, in seconds; left out: 900",
    "catalogue": "what you know better of models, by `provider/model`; refused in a file that was "
    "found in the repository",
    "catalogue.NAME.family": "who made it; a reviewer must be of another family than the developer",
    "catalogue.NAME.window_tokens": "the longest prompt with its answer",
    "catalogue.NAME.max_output_tokens": "the longest answer, at most half the window",
    "catalogue.NAME.prices.input_usd": "USD per million tokens of input; 0 for a model that costs "
    "nothing",
    "catalogue.NAME.prices.cached_input_usd": "the same for cached input; left out: as other input",
    "catalogue.NAME.prices.output_usd": "the same for output, reasoning included",
    "budget.warn_usd": "a notice above this spend of a session, in USD",
    "budget.stop_usd": "no call is paid beyond it; what then happens is `on_cap`",
    "budget.burn_usd_per_minute": "above this rate of spending the same happens as at the cap",
    "gates": "the checks that judge each change, by name; `{}` means none",
    "gates.NAME.run": "the command; a text with shell syntax runs under `bash -e -o pipefail`",
    "gates.NAME.timeout": "the longest that it may run",
    "worktree.setup": "commands run in the sandbox, once in each worktree or checkout",
    "worktree.copy": "ignored files of your checkout that builds and tests need",
    "worktree.allow_secret": "files of `copy` that may be copied, and paths in which work may add "
    "lines, although they look secret; models "
    "can read them then",
    "attempts": "attempts at a task before it fails",
    "turns": "turns of one agent; reviewers and tasks of kind docs get half",
    "command_timeout": "the longest that one command of an agent may run",
    "sandbox": "`none` runs commands of agents and gates with your own rights; refused in a file "
    "that was found in the repository",
    "policy.planner_tools": "tools that the planner may call",
    "policy.developer_tools": "tools that developers may call",
    "policy.reviewer_tools": "tools that reviewers may call",
    "policy.allow_commands": "only commands that certainly fit one of these run",
    "policy.deny_commands": "commands that may fit one of these never run, whatever allows them",
    "policy.lift": "built-in rules that do not hold",
    "policy.read_paths": "all that the tool `read`, and commands that plainly read files, get",
    "policy.write_paths": "all that a task may write of what it claims",
    "policy.blocked_paths": "neither read nor written",
    "policy.protected_paths": "never written, whatever a task claims, beside the built-in set; "
    "a baseline's tests, say",
    "deliver": "where finished work goes: the branch `blueflame/<session>`",
    "on_cap": "what reaching the cap does: wait for you, or end the session",
}

VARIABLES = {
    "BLUEFLAME_DATA_DIR": "where everything of ours lives on this machine",
    "BLUEFLAME_HOST_UID": "the unprivileged user that a host worker started as root becomes",
    "BLUEFLAME_HOST_GID": "its group",
    "BLUEFLAME_TEMPORAL_PORT": "the port that the bundled server prefers; 0: any free one",
    "BLUEFLAME_UI_PORT": "the port that the bundled Web UI prefers; 0: any free one",
    "BLUEFLAME_HOST_NAME": "this host's name in its task queue",
    "BLUEFLAME_PLAYBOOK": "what the scripted model of these workers plays; `run --playbook` "
    "sets it",
    "BLUEFLAME_PROVIDERS": "the section `providers` in JSON, for workers that are started by "
    "themselves; it goes before the files, and `run` and `up` set it",
    "BLUEFLAME_SANDBOX": "`none`: this host confines nothing; sessions that do not say the same "
    "refuse it",
    "BLUEFLAME_PAYLOAD_KEYS": "`id:base64,…`: histories are encrypted with the first, decrypted "
    "with any",
    "ANTHROPIC_API_KEY": "key of provider `anthropic`",
    "ANTHROPIC_API_KEY_FILE": "a file that holds it",
    "ANTHROPIC_API_KEY_COMMAND": "a command that prints it (`pass show …`), run without a shell",
    "ANTHROPIC_BASE_URL": "another address of its interface",
    "OPENAI_API_KEY": "key of provider `openai`",
    "OPENAI_API_KEY_FILE": "a file that holds it",
    "OPENAI_API_KEY_COMMAND": "a command that prints it",
    "OPENAI_BASE_URL": "another address of its interface",
    "GEMINI_API_KEY": "key of provider `google`",
    "GEMINI_API_KEY_FILE": "a file that holds it",
    "GEMINI_API_KEY_COMMAND": "a command that prints it",
    "GOOGLE_API_KEY": "the same, by its other name",
    "GOOGLE_GEMINI_BASE_URL": "another address of its interface",
}

_DEFAULTS = {
    "version": "",
    "models.planner": "by the keys that are set",
    "models.developer": "by the keys that are set",
    "models.reviewer": "by the keys that are set",
    "providers": "",
    "catalogue": "",
    "gates": "detected",
    "gates.NAME.run": "",
    "BLUEFLAME_DATA_DIR": "the system's place for a program's data",
    "BLUEFLAME_HOST_NAME": "made once, and kept",
}
"""What no model says: where a default is worked out, or there is none."""

_INTERNAL = frozenset(
    {
        "BLUEFLAME_SERVER",
        "BLUEFLAME_FAIL_POINT",
        "BLUEFLAME_TEMPORAL",
        "BLUEFLAME_ENDPOINT_KEYS",
    }
)
"""Set by our own processes or by tests."""

_TEXT = """\
# Configuration

<!-- Written by scripts/docs from the code; a test compares the two. Change scripts/docs.py. -->

## blueflame.yaml

All keys but `version` may be left out. Layers, the later one winning key by key (lists and `gates`
are taken whole, but for the policy's that deny; `providers` and `catalogue` entry by entry):

1. the defaults below;
2. your own file, `blueflame/blueflame.yaml` in your configuration directory (on Linux
   `~/.config/blueflame/blueflame.yaml`);
3. `blueflame.yaml` at the root of the repository, or instead of it the file of `--config`;
4. flags of `run`.

`run --dry-run` prints what a session would get. A session keeps the configuration that it was
started with. An unknown key, a wrong value or a doubled key is refused with file, line and column.
A file found in the repository decides nothing against you: it may not switch the sandbox off, mark
secrets, approve where you are asked, change `on_cap`, allow agents more than you do, raise
`budget.stop_usd` above your own file's or the default, or say anything of `providers` and
`catalogue` that you do not say yourself. Say that in your own file, with `--config` or with a flag.
An example with every key is [blueflame.example.yaml](../blueflame.example.yaml).

{keys}

A duration is written as `90s`, `10m` or `1h30m`, at most 24h. A command is a text or a list of
arguments. Models are `provider/model`; built-in providers are {providers}.
[Providers](providers.md) tells how to use Ollama, vLLM, llama.cpp and gateways.

Where no model is configured, two keys of different providers in the environment are enough: the
planner gets the strongest models, the developers the first provider's, the reviewers the others'.

{policy}

## Environment

{variables}

`TEMPORAL_ADDRESS`, `TEMPORAL_NAMESPACE`, `TEMPORAL_API_KEY`, the `TEMPORAL_TLS_…` variables and
`TEMPORAL_PROFILE` are Temporal's own; with an address or a profile the bundled server is not used.
Keys reach workers of role `models` and no other process of ours. A key from a file or a command is
read again within ten seconds, and at once when the provider refuses it, so that it can be rotated
while sessions run.

### Encrypted histories

`blueflame codec --new-key k1` prints a key. With it in `BLUEFLAME_PAYLOAD_KEYS`, for the workers
and for the command line alike (`export BLUEFLAME_PAYLOAD_KEYS="$(pass show blueflame)"`),
everything that Temporal keeps of a session is encrypted by AES-256-GCM: inputs, results, signals,
messages of failures. Put a new key before the old ones to rotate, and keep the old ones for as long
as histories are retained. `blueflame codec` lets the Web UI decrypt in your own browser. Ids,
types, sizes and times stay readable, and so do the conversations and repositories on the workers'
disks.
"""


_POLICY = """\
## Rules for tool calls

Each call of a tool is judged before it runs; [security](security.md) says what that is worth. A
denied call is answered with the rule that denies it and with what would be allowed, and the other
calls of the turn run. Rules narrow what claims and sandbox leave open, and never widen it.

Path patterns are those of claims: whole paths from the repository's root, `*` within a segment,
`**` across segments, and a pattern covers what is below it. Command patterns are a program and its
words, each of which may hold `*` and `?`; `*` alone at the end stands for any further words.
`allow_commands: [git log *, python -m pytest *, ls *]` lets exactly those run, and the builtins of
the shell; programs that only start others (`env`, `timeout`, `xargs` …) are judged by what they
start. `deny_commands: [npm run release*, rm -rf]` denies each command that begins so, with any
options and further words, and each of which that cannot be excluded. Where both say something,
deny wins.

Lists that deny (`deny_commands`, `blocked_paths`, `protected_paths`) are joined over all layers. Of
the others a file found in the repository may only leave something out.

| rule | denies | can be lifted |
|---|---|---|
{rules}"""

_RULES = {
    "tools": "a tool that the role does not have",
    "claims": "a write outside the task's claims; what builds and tests leave behind "
    "(`__pycache__`, `build`, `node_modules` …) is not asked about in commands",
    "protected": "a write to `.git`, `blueflame.yaml`, the definitions of CI, `protected_paths`",
    "blocked": "a read or write of `blocked_paths`",
    "named-only": "a write to a lock file, or to a script that a gate starts, unless a claim other "
    "than `**` covers it",
    "read-paths": "a read outside `read_paths`",
    "write-paths": "a write outside `write_paths`",
    "deny-commands": "what `deny_commands` may name",
    "allow-commands": "what `allow_commands` does not certainly name",
    "unreadable": "a command that cannot be read with certainty; the place is named",
    "hidden-program": "an expansion where a program must stand, a program's output as commands, an "
    "unknown option before a program",
    "look-alike": "a program's name with letters that only look like others, or cannot be seen",
    "environment": "variables that make programs load or run something: `LD_PRELOAD`, `BASH_ENV`, "
    "`GIT_SSH_COMMAND` …",
    "git-config": "settings of git that can start programs or hooks; colour, pager, user, log are "
    "free",
    "git-history": "commits, rebases, worktrees in the worktree: work is committed after each turn",
    "git-remote": "push, fetch, pull, clone, changes of remotes, and `gh` and its kin",
    "network": "curl, wget, ssh and the like, but for addresses of this machine",
    "publish": "publishing and deploying: `npm publish`, `twine upload`, `kubectl` …",
    "recursion": "Blue Flame and its server, started from inside a session",
    "rights": "sudo, su, mount, docker and the like",
    "system-packages": "apt, dnf, brew and the like",
}
"""What denies, in the order in which it is asked."""


class Row(NamedTuple):
    """One key or variable."""

    name: str
    values: str
    default: str


def page() -> str:
    """Return the whole page."""
    return _TEXT.format(
        keys=_table("key", list(keys()), MEANINGS),
        variables=_table("variable", list(variables()), VARIABLES),
        policy=_POLICY.format(rules=_rules()),
        providers=", ".join(f"`{name}`" for name in file.BUILT_IN),
    )


def _rules() -> str:
    if missing := set(RULE_NAMES) - set(_RULES):
        raise SystemExit(f"scripts/docs.py: {', '.join(sorted(missing))}: say what it denies")
    return "\n".join(
        f"| `{name}` | {denies} | {'yes' if name in RULE_NAMES else 'no'} |"
        for name, denies in _RULES.items()
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
            yield Row(variable, _values(field.annotation, field.metadata), default)


def _keys(model: type[BaseModel], prefix: str, defaults: dict[str, FieldInfo]) -> Iterator[Row]:
    for name, field in model.model_fields.items():
        key = f"{prefix}{_spelled(name, field)}"
        kind, default = _bare(field.annotation), defaults.get(name)
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            below: Any = _bare(default.annotation) if default else kind
            yield from _keys(kind, f"{key}.", below.model_fields)
            continue
        shown = _shown((default or field).get_default(call_default_factory=True))
        yield Row(key, _values(field.annotation, field.metadata), _DEFAULTS.get(key, shown))
        if get_origin(kind) is dict:
            entry: type[BaseModel] = get_args(kind)[1]
            yield from _keys(entry, f"{key}.NAME.", entry.model_fields)


def _spelled(name: str, field: FieldInfo) -> str:
    alias = field.validation_alias
    return str(alias.choices[0]) if isinstance(alias, AliasChoices) else name


def _bare(kind: Any) -> Any:
    """Take off `| None` and annotations."""
    if get_origin(kind) is Annotated:
        return _bare(get_args(kind)[0])
    if get_origin(kind) in {Union, UnionType}:
        (kind,) = [each for each in get_args(kind) if each is not NoneType]
        return _bare(kind)
    return kind


def _values(kind: Any, metadata: list[Any]) -> str:
    bare: Any = _bare(kind)
    origin = get_origin(bare)
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in get_args(bare))
    if origin is dict:
        return "mapping"
    if bare is bool:
        return "`true`, `false`"
    if origin is tuple:
        return _listed(get_args(bare)[0], metadata)
    if isinstance(bare, type) and issubclass(bare, Enum):
        return ", ".join(f"`{value.value}`" for value in bare)
    names: dict[Any, str] = {
        int: "number",
        Decimal: "amount",
        timedelta: "duration",
        Path: "path",
    }
    return _bounded(names.get(bare, "text"), metadata)


def _listed(item: Any, metadata: list[Any]) -> str:
    if any(isinstance(each, BeforeValidator) for each in metadata):
        return "command"
    if item == file.Command:
        return "list of commands"
    if get_origin(item) is Literal:
        return f"list of {', '.join(f'`{value}`' for value in get_args(item))}"
    if item in {file.CheckedPath, file.CheckedCommand}:
        return f"list of {'path' if item == file.CheckedPath else 'command'} patterns"
    return "list of models" if get_origin(item) is Annotated else "list of paths"


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


def main() -> int:
    """Write the page, or with `--check` compare it."""
    wanted = page()
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(wanted, encoding="utf-8")
        return 0
    if PAGE.read_text(encoding="utf-8") == wanted:
        return 0
    print("docs/configuration.md is not true to the code: scripts/docs writes it anew")
    return 1


if __name__ == "__main__":
    sys.exit(main())
