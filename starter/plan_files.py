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

from activities.documents import DocumentError, parse_document
from starter.errors import CommandError
from starter.exit_codes import ExitCode
from workflows.domain.plan import Plan
from workflows.policy.plan import plan_faults

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
        CommandError: it is no file, no plan, or has faults; each complaint says which.
    """
    if not path.is_file():  # a pipe or a device would block, or never end
        raise CommandError(f"plan {str(path)!r} is no file")
    data = path.read_bytes()
    if len(data) > _MOST_BYTES:
        raise CommandError(f"{path}: over {_MOST_BYTES} bytes; no plan is so long")
    try:
        plan = parse_document(Plan, data.decode("utf-8-sig"), str(path))
    except UnicodeDecodeError:
        raise CommandError(f"{path}: not UTF-8; save the file as UTF-8") from None
    except DocumentError as error:
        raise CommandError(str(error)) from error
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
        CommandError: the editor cannot be run or failed, or what was saved has faults. The text is
            kept then, and the message says where.
    """
    descriptor, name = tempfile.mkstemp(prefix="blueflame-plan-", suffix=".yaml")
    path, before = Path(name), as_yaml(plan)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(before)
    try:
        await _open_editor(path)
        after = path.read_text("utf-8", "surrogateescape")  # noqa: ASYNC240 (the person waits)
        read = None if after == before or not after.strip() else read_plan_file(path)
    except CommandError as error:
        text = f"{error}\nyour text is kept; mend it, and send it with `{again} --file {path}`"
        raise CommandError(text, error.code) from error
    path.unlink()  # noqa: ASYNC240 (as above)
    return read


async def _open_editor(path: Path) -> None:
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        process = await asyncio.create_subprocess_exec(*shlex.split(command), str(path))
    except (OSError, ValueError) as error:
        raise CommandError(
            f"editor {command!r} cannot be started ({error}); name one by EDITOR"
        ) from error
    if await process.wait() != 0:
        raise CommandError(
            f"editor {command!r} ended with {process.returncode}; nothing was sent",
            ExitCode.FAILED,
        )
