"""A plan as a YAML file that a person edits: written, opened in their editor, read strictly.

What is read has the shape of a plan and can be carried out; whether it is any good is theirs.
"""

import asyncio
import io
import os
import shlex
import tempfile
from pathlib import Path
from typing import Final

from activities.process_end import end_child
from activities.text.text_files import TextFileError, read_bounded
from starter.console.command_errors import CommandError
from starter.console.exit_codes import ExitCode
from starter.input.yaml_files import read_yaml_file
from workflows.domain.plan import Plan
from workflows.policy.plan.plan_check import plan_faults

_MOST_BYTES: Final = 4_000_000
_HEAD: Final = """\
# The plan. Saved, it takes the place of the one that waits, and is approved with it.
# Left as it is, or emptied: nothing is sent.
"""


def as_yaml(plan: Plan) -> str:
    """Return a plan as the text of a file; what is at its default is left out."""
    from ruamel.yaml import YAML

    writer = YAML(typ="safe", pure=True)
    writer.default_flow_style = False
    writer.allow_unicode = True
    writer.sort_base_mapping_type_on_output = False  # pyright: ignore[reportAttributeAccessIssue] (the library has no types)
    out = io.StringIO()
    writer.dump(plan.model_dump(mode="json", exclude_defaults=True), out)  # pyright: ignore[reportUnknownMemberType] (as above)
    return _HEAD + out.getvalue()


def read_plan_file(path: Path) -> Plan:
    """Read a plan that can be carried out.

    Raises:
        CommandError: it is not a file, no plan, or has faults; each complaint says which.
    """
    plan = read_yaml_file(Plan, path, _MOST_BYTES, "plan")
    if faults := plan_faults(plan):
        raise CommandError("\n".join(f"{path}: {fault.text}" for fault in faults))
    return plan


async def edited(plan: Plan, again: str) -> Plan | None:
    """Let a person edit a plan in $VISUAL or $EDITOR.

    Args:
        plan: what the file holds at first.
        again: the beginning of the command that sends a file, for a text that is refused.

    Returns:
        The plan that they saved; None where they left it as it was.

    Raises:
        CommandError: the editor cannot be run, failed or was interrupted, or what was saved has
            faults. A text that they changed is kept then, and the message says where.
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
    """Tell whether a person left a text of their own: not the first one, nor none."""
    try:
        after = read_bounded(path, _MOST_BYTES).decode(errors="replace")
    except TextFileError:
        return os.path.lexists(path)  # reading it says what is wrong
    return after != before and bool(after.strip())


def _refused(path: Path, before: str, error: CommandError, again: str) -> CommandError:
    """Return an error that says where the person's text is, if there is one to keep."""
    if not _is_meant(path, before):
        path.unlink(missing_ok=True)
        return error
    text = f"{error}\nyour text is kept; fix it, and send it with `{again} --file {path}`"
    return CommandError(text, error.code)


async def _open_editor(path: Path) -> None:
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        # In this process's group, which has the terminal: another would be stopped when it reads.
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
