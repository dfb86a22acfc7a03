"""A plan as a YAML file that a person edits: written, opened in their editor, parsed strictly.

A parsed plan has the right shape and can be carried out; the person decides whether it is good.
"""

import asyncio
import io
import os
import re
import shlex
import tempfile
from pathlib import Path
from typing import Final

from pydantic import JsonValue, ValidationError

from activities.process_end import end_child
from activities.text.text_files import TextFileError, read_bounded, read_text_file
from activities.yaml_documents.model_reader import DocumentError, complaints
from activities.yaml_documents.source_places import Loc, Source
from starter.console.command_errors import CommandError
from starter.console.exit_codes import ExitCode
from starter.input.goal_text import read_goal
from workflows.domain.plan import Plan
from workflows.policy.decision.plan_edits import plan_digest
from workflows.policy.plan.graph_faults import MAX_FAULTS
from workflows.policy.plan.partial_plan import task_at
from workflows.policy.plan.plan_check import faults_beside, plan_faults

_MOST_BYTES: Final = 4_000_000
_HEAD: Final = """\
# The plan. Saved, it takes the place of the session's own, and is approved with it.
# Left as it is, or emptied: nothing is sent.
# Digest of the plan that this edits: {digest}
"""
_DIGEST: Final = re.compile(
    r"^# Digest of the plan that this edits: ([0-9a-f]{1,64})\s*$", re.MULTILINE
)


def as_yaml(plan: Plan) -> str:
    """Return a plan as the text of a file, without values that are at their default."""
    from ruamel.yaml import YAML

    writer = YAML(typ="safe", pure=True)
    writer.default_flow_style = False
    writer.allow_unicode = True
    writer.sort_base_mapping_type_on_output = False  # pyright: ignore[reportAttributeAccessIssue] (the library has no types)
    out = io.StringIO()
    writer.dump(plan.model_dump(mode="json", exclude_defaults=True), out)  # pyright: ignore[reportUnknownMemberType] (as above)
    return _HEAD.format(digest=plan_digest(plan)) + out.getvalue()


def digest_in(path: Path) -> str:
    """Return the digest of the plan that a file says it edits; empty if it names none."""
    found = _DIGEST.search(path.read_text("utf-8", "replace"))
    return found[1] if found else ""


def read_plan_file(path: Path) -> Plan:
    """Read a plan that can be carried out.

    Raises:
        CommandError: it is not a file, not a plan, or has faults; each complaint says which.
    """
    source = Source(str(path))
    try:
        document = source.read(read_text_file(path, _MOST_BYTES))
    except TextFileError as error:
        raise CommandError(f"plan: {error}") from None
    except DocumentError as error:
        raise CommandError(str(error)) from error
    try:
        plan = Plan.model_validate(document)
    except ValidationError as error:
        raise CommandError(_listed(source, _wrong_shape(source, document, error))) from None
    if faults := plan_faults(plan):
        raise CommandError(_listed(source, [(each.place, each.text) for each in faults]))
    return plan


def _wrong_shape(
    source: Source, document: JsonValue, error: ValidationError
) -> "list[tuple[Loc, str]]":
    """Return all faults of a document that does not have the shape of a plan."""
    found = [(each.loc, each.text) for each in complaints(source, Plan, error)]
    named = [(place, _of_task(task_at(document, place), text)) for place, text in found]
    return [*named, *((each.place, each.text) for each in faults_beside(document, error))]


def _of_task(task: str | None, text: str) -> str:
    return f"task {task!r}, {text}" if task else text


def _listed(source: Source, faults: "list[tuple[Loc, str]]") -> str:
    """Return the faults in the order of the file, each with the line to change."""
    in_order = sorted(faults, key=lambda fault: source.position(fault[0]))
    lines = [f"{source.place(place)}: {text}" for place, text in in_order[:MAX_FAULTS]]
    more = [f"and {len(faults) - MAX_FAULTS} faults more"] if len(faults) > MAX_FAULTS else []
    return "\n".join([*lines, *more])


async def read_goal_and_plan(
    goal: str | None, file: Path | None, plan: Path | None
) -> tuple[str, Plan | None]:
    """Return a person's goal, and the plan that they bring for it.

    Args:
        goal: as typed; `-`: the standard input; None: not given.
        file: a text file with the goal; None: not given.
        plan: the plan's file; None: a planner makes one. A plan needs no other goal: its summary
            is one, or its file's name.

    Raises:
        CommandError: one of them cannot be read, or is not valid.
    """
    if plan is None:
        return await read_goal(goal, file), None
    read = read_plan_file(plan)
    if goal is None and file is None:
        return read.summary.strip() or f"the plan in {plan.name}", read
    return await read_goal(goal, file), read


async def edited(plan: Plan, again: str) -> Plan | None:
    """Let a person edit a plan in $VISUAL or $EDITOR.

    Args:
        plan: the file's initial content.
        again: the beginning of the command that sends a file, for a text that is refused.

    Returns:
        The plan that they saved; None if they left it unchanged.

    Raises:
        CommandError: the editor cannot be run, failed or was interrupted, or the saved text has
            faults. A changed text is then kept, and the message says where.
    """
    descriptor, name = tempfile.mkstemp(prefix="blueflame-plan-", suffix=".yaml")
    path, before = Path(name), as_yaml(plan)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(before)
    try:
        await _open_editor(path)
        read = read_plan_file(path) if _is_meant(path, before) else None
    except asyncio.CancelledError:
        told = "the editor was interrupted; nothing was sent"
        raise _refused(path, before, CommandError(told, ExitCode.INTERRUPTED), again) from None
    except CommandError as error:
        raise _refused(path, before, error, again) from error
    path.unlink(missing_ok=True)  # noqa: ASYNC240 (the person waits)
    return read


def _is_meant(path: Path, before: str) -> bool:
    """Tell whether a person left their own text: neither the initial one nor an empty one."""
    try:
        after = read_bounded(path, _MOST_BYTES).decode(errors="replace")
    except TextFileError:
        return os.path.lexists(path)  # reading it reports the fault
    return after != before and bool(after.strip())


def _refused(path: Path, before: str, error: CommandError, again: str) -> CommandError:
    """Return an error that says where the person's text is, if it was kept."""
    if not _is_meant(path, before):
        path.unlink(missing_ok=True)
        return error
    text = f"{error}\nyour text is kept; fix it, and send it with `{again} --file {path}`"
    return CommandError(text, error.code)


async def _open_editor(path: Path) -> None:
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        # In this process's group, which owns the terminal: in another a read would stop it.
        process = await asyncio.create_subprocess_exec(*shlex.split(command), str(path))
    except (OSError, ValueError) as error:
        raise CommandError(
            f"editor {command!r} cannot be started ({error}); nothing was sent: name one by EDITOR"
        ) from error
    try:
        code = await process.wait()
    finally:
        await end_child(process, has_group=False)
    if code != 0:
        how = f"ended with code {code}" if code > 0 else f"was ended by signal {-code}"
        raise CommandError(f"editor {command!r} {how}; nothing was sent")
