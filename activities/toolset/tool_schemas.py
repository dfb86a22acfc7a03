"""The tools as the models see them, and the strict arguments of those that run in the sandbox.

`ask` and the three `submit` tools have only their schema here: the workflow handles them and
judges their content. `problems` words the answer to a wrong argument.
"""

from collections.abc import Collection, Mapping
from typing import Annotated

from pydantic import BaseModel, Field, JsonValue, ValidationError
from pydantic_core import ErrorDetails

from activities.ports.model_provider import ToolSchema
from workflows.domain.agent.messages import ToolCall
from workflows.domain.agent.model_values import Role

LONGEST_TIMEOUT_S = 24 * 60 * 60
"""The most that a call can ask for; a session's own limit for a command is never exceeded."""

OUTPUT_LIMIT = "the output limit"
"""Stands in the fault of a call that was cut there."""

_Text = Annotated[str, Field(min_length=1)]


class _Arguments(BaseModel, frozen=True, extra="forbid", strict=True):
    """Strict: the text "false" is not a bool, "10" not a number, a list as text not a list."""


class Bash(_Arguments, frozen=True):
    """Run a command with bash in the workspace.

    No network, no terminal, empty stdin; background processes are ended with the command. The exit
    code of every pipe member is shown. The folder lasts from call to call; variables do not, and
    git's index and HEAD are those of the base again. Other tools count paths from the workspace.
    """

    command: str = Field(min_length=1, description="One bash command line, or a script.")
    timeout_s: int | None = Field(
        default=None,
        ge=1,
        le=LONGEST_TIMEOUT_S,
        description="Seconds; the session's limit for a command where left out, and at most.",
    )


class Read(_Arguments, frozen=True):
    """Read a text file with line numbers, or list a folder. Long files come in parts."""

    path: _Text = Field(description="Relative to the workspace; or the `output:…` of a cut output.")
    offset: int = Field(default=1, ge=1, description="First line, counted from 1.")
    limit: int = Field(default=2_000, ge=1, le=100_000, description="How many lines at most.")


class Edit(_Arguments, frozen=True):
    """Replace text in a file.

    `old` must be quoted exactly and be found once, unless replace_all is set. All other bytes of
    the file, its line ends and its mode stay.
    """

    path: _Text = Field(description="Relative to the workspace.")
    old: _Text = Field(description="The text to replace, without line numbers.")
    new: str = Field(description="What to put there; may be empty.")
    replace_all: bool = Field(default=False, description="Replace every place where it is found.")


class Write(_Arguments, frozen=True):
    """Create a file, or replace a whole one. Folders are made as needed; an existing mode stays."""

    path: _Text = Field(description="Relative to the workspace.")
    content: str = Field(description="The whole new content.")


class ApplyPatch(_Arguments, frozen=True):
    """Change several files at once: all of the patch, or nothing.

    `*** Begin Patch`, then for each file `*** Add File: PATH` (all lines with `+`), `*** Delete
    File: PATH`, or `*** Update File: PATH` with at most one `*** Move to: PATH` and hunks, at the
    end `*** End Patch`. A hunk: `@@`, or `@@ LINE` to name a whole line before it; then lines that
    begin with a space (context), `-` or `+`; `*** End of File` where it ends the file. Context that
    stands at several places is refused.
    """

    input: _Text = Field(description="The whole patch; paths relative to the workspace.")


class Ask(_Arguments, frozen=True):
    """Ask the person who leads the project one question, and wait for the answer.

    Only where a wrong guess would cost more than a long wait. At most once: the answer may be to
    decide yourself.
    """

    question: _Text = Field(description="What you need to know and why, with the choices you see.")


class Submit(_Arguments, frozen=True):
    """Hand in the finished work. Call it once, alone, when all acceptance criteria are met."""

    summary: _Text = Field(description="What was done and how it was checked, for the reviewer.")


class _PlannedTask(_Arguments, frozen=True):
    id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,62}$", description="Unique in the plan.")
    kind: str = Field(description="code, tests, docs, refactor, architecture, security …")
    title: _Text
    description: _Text = Field(description="All that its developer needs to know.")
    acceptance_criteria: list[_Text] = Field(min_length=1, description="Each can be checked.")
    claims: list[_Text] = Field(
        min_length=1,
        description="Path globs that the task may write, `**` across folders.",
    )
    depends_on: list[str] = Field(default=[], description="Ids of tasks that come first.")
    group: str | None = Field(default=None, description="Tasks of a group are merged together.")
    priority: int = Field(default=0, description="Higher comes first.")
    risk: str = Field(default="low", description="low, medium or high")


class SubmitPlan(_Arguments, frozen=True):
    """Hand in the plan: a graph of tasks. Tasks with overlapping claims never run together."""

    tasks: list[_PlannedTask] = Field(min_length=1)


class _Evidence(_Arguments, frozen=True):
    criterion: _Text = Field(description="The acceptance criterion's number, as in `2`.")
    path: _Text
    line_start: int = Field(ge=1)
    line_end: int = Field(ge=1)
    quote: _Text = Field(description="These lines, word for word; checked against the file.")
    unchanged_because: str = Field(
        default="",
        description="Only where the work did not change these lines: why they prove the criterion.",
    )


class _Finding(_Arguments, frozen=True):
    path: _Text
    line: int = Field(ge=1)
    text: _Text = Field(description="What is wrong and what would be right.")


class SubmitVerdict(_Arguments, frozen=True):
    """Hand in the review. Approval counts only with evidence for every criterion."""

    approve: bool
    summary: _Text
    evidence: list[_Evidence] = Field(default=[])
    findings: list[_Finding] = Field(default=[])


_NAMES: Mapping[str, type[_Arguments]] = {
    "bash": Bash,
    "read": Read,
    "edit": Edit,
    "write": Write,
    "apply_patch": ApplyPatch,
    "ask": Ask,
    "submit": Submit,
    "submit_plan": SubmitPlan,
    "submit_verdict": SubmitVerdict,
}

_NAMES_OF = {kind: name for name, kind in _NAMES.items()}

_TOOLS = {
    Role.DEVELOPER: ("bash", "read", "edit", "write", "apply_patch", "ask", "submit"),
    Role.PLANNER: ("bash", "read", "ask", "submit_plan"),
    Role.REVIEWER: ("bash", "read", "submit_verdict"),
}

SandboxCall = Bash | Read | Edit | Write | ApplyPatch


def tools_for(
    role: Role, left: Collection[str] | None = None, *, patches: bool = False
) -> tuple[ToolSchema, ...]:
    """Return a role's tools in a fixed order, because they are part of the cached prefix.

    Args:
        role: the caller's role.
        left: the sandbox tools that a person allows the role; None: all of them.
        patches: whether the model knows `apply_patch`; it is offered only to such models.
    """
    taken: set[str] = set() if left is None else set(sandbox_tools(role)) - set(left)
    if not patches:
        taken.add("apply_patch")
    return tuple(schema(name) for name in _TOOLS[role] if name not in taken)


def name_of(call: SandboxCall) -> str:
    """Return the tool that has these arguments."""
    return _NAMES_OF[type(call)]


def sandbox_tools(role: Role) -> tuple[str, ...]:
    """Return the names of the role's tools that run in the sandbox, for any model."""
    return tuple(name for name in _TOOLS[role] if issubclass(_NAMES[name], SandboxCall))


def schema(name: str) -> ToolSchema:
    """Return one tool's schema without references, because not every provider follows them."""
    model = _NAMES[name]
    whole = model.model_json_schema()
    definitions: dict[str, JsonValue] = whole.pop("$defs", {})
    whole.pop("description", None)
    description = " ".join((model.__doc__ or "").split())
    parameters = _plain_object(whole, definitions)
    return ToolSchema(name=name, description=description, parameters=parameters)


def parse(name: str, arguments: Mapping[str, JsonValue]) -> SandboxCall:
    """Check the arguments of a tool that runs in the sandbox.

    Raises:
        ValidationError: a field is missing, unknown or of the wrong type.
    """
    call = _NAMES[name].model_validate(dict(arguments))
    assert isinstance(call, SandboxCall)
    return call


def unread_call(call: ToolCall) -> str:
    """Word the answer to a call whose arguments are not a JSON object."""
    fault = call.fault or "they cannot be parsed"
    if OUTPUT_LIMIT in fault:
        return (
            f"{call.name}: not run: {fault}. Do not send it again as a whole: write a long file in "
            "parts, first its beginning, then a few hundred lines with each further call."
        )
    again = "Send the call again, with its arguments as one JSON object."
    return f"{call.name}: not run: the arguments are not a JSON object: {fault}. {again}"


def problems(name: str, error: ValidationError) -> str:
    """Word what is wrong with a call's arguments, field by field, and what would be right."""
    lines = [_problem(one) for one in error.errors(include_url=False)]
    allowed = ", ".join(_NAMES[name].model_fields)
    return "\n".join([f"{name}: wrong arguments.", *lines, f"Its fields: {allowed}."])


def _problem(error: ErrorDetails) -> str:
    where = ".".join(str(part) for part in error["loc"]) or "arguments"
    if error["type"] == "extra_forbidden":
        return f"- {where}: there is no such field."
    given = error.get("input")
    seen = "" if error["type"] == "missing" else f" (given: {repr(given)[:80]})"
    return f"- {where}: {error['msg']}{seen}."


def _plain(value: JsonValue, definitions: Mapping[str, JsonValue]) -> JsonValue:
    if isinstance(value, list):
        return [_plain(one, definitions) for one in value]
    if not isinstance(value, dict):
        return value
    if isinstance(reference := value.get("$ref"), str):
        return _plain(definitions[reference.rpartition("/")[2]], definitions)
    return _plain_object(value, definitions)


def _plain_object(
    value: Mapping[str, JsonValue], definitions: Mapping[str, JsonValue]
) -> dict[str, JsonValue]:
    return {
        key: _properties(one, definitions) if key == "properties" else _plain(one, definitions)
        for key, one in value.items()
        if key != "title" or not isinstance(one, str)
    }


def _properties(value: JsonValue, definitions: Mapping[str, JsonValue]) -> JsonValue:
    """Drop only the schema's own keyword `title`, because a field may have that name."""
    if not isinstance(value, dict):
        return value
    return {name: _plain(one, definitions) for name, one in value.items()}
