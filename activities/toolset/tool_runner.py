"""Runs a model's tool calls over the port `Sandbox`, and words the answers.

Every call gets an answer: a faulty call is answered, not raised. Only a sandbox that cannot start
is raised, because no model could fix that. Which calls may run and which paths a task may write is
decided elsewhere; this module asks for those decisions before it runs or writes anything. A denied
call does not stop the other calls of its turn.
"""

import asyncio
import posixpath
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import assert_never

from pydantic import BaseModel, JsonValue, ValidationError

from activities.ports.blob_store_port import BlobMissingError, BlobStore
from activities.ports.sandbox_port import WORKSPACE, Limits, Sandbox, SandboxCommand, Workspace
from activities.text.redaction import redact_bytes
from activities.text.surrogates import clean_table
from activities.toolset import bash_script
from activities.toolset.command_endings import has_failed, notes_on
from activities.toolset.file_calls import FileAnswer, FileTools
from activities.toolset.observations import harmless, shown
from activities.toolset.patch_format import PatchError, parse_patch
from activities.toolset.stored_outputs import digest_in, handle_of, page
from activities.toolset.tool_schemas import (
    ApplyPatch,
    Bash,
    Edit,
    Read,
    SandboxCall,
    Write,
    parse,
    problems,
    unread_call,
)
from activities.toolset.typed_patch import NOTE, typed_patch, was_typed
from workflows.domain.agent.messages import ToolCall, ToolResult
from workflows.domain.ids import Digest
from workflows.policy.text.secret_patterns import without_secrets

_MOST_JUDGED = 4

_BATCH_OVER = (
    "Not run, because the time that the calls of one turn have together was used up by those "
    "before. Send it again in your next turn, and split what takes long over several turns."
)

MayWrite = Callable[[str], str | None]
"""Called with a path relative to the workspace, links followed; returns the rule that denies it."""
Judge = Callable[[SandboxCall, str], str | None]
"""Called with a call before it runs, and with the folder of the last command; returns the rule that
denies it."""


class Observation(BaseModel, frozen=True, extra="forbid"):
    """The answer to one call, and facts about it besides its text."""

    result: ToolResult
    whole: Digest | None = None
    """The whole output in the store, if the text was cut."""
    elapsed: timedelta = timedelta()
    is_failed: bool = False
    """An error, or a command of which a part did not exit with 0."""
    is_broken: bool = False
    """The tool itself failed: it gave no answer, or a limit or a signal ended the command."""
    folder: str | None = None
    """Where the next command starts, relative to the workspace; None: where it did before."""


@dataclass(frozen=True)
class Toolset:
    """The tools of one agent on one workspace."""

    sandbox: Sandbox
    blobs: BlobStore
    workspace: Workspace
    tools: tuple[str, ...]
    """Names of the agent's tools that run here; see `tool_schemas.sandbox_tools`."""
    limits: Limits = field(default_factory=Limits)
    """The limits of each command; a call's `timeout_s` can only shorten the time."""
    may_write: MayWrite | None = None
    """None: everything in the workspace may be written."""
    judge: Judge | None = None
    """None: every call runs."""
    hold: int | None = None
    """The worktree's lock, which is held until the last process of a call is dead."""
    time_left: Callable[[], timedelta] | None = None
    """The time left for the whole batch; None: no limit for the batch."""
    others: tuple[str, ...] = ()
    """The agent's tools that the workflow answers; listed only when an agent calls an unknown
    tool."""

    async def run_call(self, call: ToolCall, folder: str = "") -> Observation:
        """Run one call and answer it.

        Args:
            call: of any tool.
            folder: where a command starts, relative to the workspace; empty for its root.

        Raises:
            SandboxUnavailableError: there is no sandbox; nothing ran.
        """
        if call.malformed is not None:
            # First, because only a malformed `submit` comes here, and it is still a known tool.
            return _refused(call, unread_call(call))
        if call.name not in self.tools:
            tools = ", ".join((*self.tools, *self.others))
            return _refused(call, f"There is no tool {call.name!r} here. Tools: {tools}.")
        if self.time_left is not None and self.time_left() <= timedelta():
            return _refused(call, _BATCH_OVER)
        try:
            arguments = parse(call.name, clean_table(call.arguments, keeps_nan=True))
        except ValidationError as error:
            return _refused(call, problems(call.name, error))
        if isinstance(arguments, Bash) and "apply_patch" in self.tools:
            patch = typed_patch(arguments.command, folder)
            arguments = arguments if patch is None else ApplyPatch(input=patch)
        if self.judge is not None and (rule := self.judge(arguments, folder)) is not None:
            return _refused(call, rule)
        return await self._run(call, arguments, folder)

    async def _run(self, call: ToolCall, arguments: SandboxCall, folder: str) -> Observation:
        match arguments:
            case Bash():
                return await self._bash(call, arguments, folder)
            case Read():
                return await self._read(call, arguments)
            case Edit() | Write():
                request = {"op": call.name, **dict(arguments)}
                return await self._change(call, (arguments.path,), request)
            case ApplyPatch():
                return await self._patch(call, arguments)
            case _:
                assert_never(arguments)

    async def _read(self, call: ToolCall, arguments: Read) -> Observation:
        digest = digest_in(arguments.path)
        if digest is None:
            return _told(call, await self._files().ask({"op": "read", **dict(arguments)}))
        try:
            output = await self.blobs.get(digest)
        except BlobMissingError:
            again = "Run the command again."
            return _refused(call, f"{arguments.path!r} is not a stored output. {again}")
        # Decoding megabytes of it would block the event loop.
        text = await asyncio.to_thread(page, output, arguments.offset, arguments.limit)
        return Observation(result=_result(call, text, is_error=False))

    async def _bash(self, call: ToolCall, arguments: Bash, folder: str) -> Observation:
        if fault := bash_script.fault(arguments.command):
            return _refused(call, fault)
        limits = self.limits.lasting(self._timeout(arguments))
        mark = secrets.token_hex(8)
        started = bash_script.script(arguments.command, folder, mark)
        command = SandboxCommand(
            argv=started.argv, workspace=self.workspace, stdin=started.stdin, limits=limits
        )
        ran = await self.sandbox.run(command, self.hold)
        end = bash_script.read_end(ran.marked_output(), mark)
        output = redact_bytes(end.output)
        seen = shown(output)
        whole = await self.blobs.put(output) if seen.is_cut else None
        handle = handle_of(whole) if whole else ""
        text = seen.text(handle, ran.output_bytes).rstrip("\n") or "(no output)"
        notes = notes_on(ran, limits, arguments.command, end.members, self.limits.timeout)
        notes += [NOTE] if was_typed(text) else []
        root = str(self.workspace.path.resolve())
        after = bash_script.kept_folder(end.folder, folder, root)
        notes += bash_script.folder_notes(end.folder, after, root)
        return Observation(
            result=_result(call, "\n".join([text, *notes]), is_error=ran.end != "exited"),
            whole=whole,
            elapsed=ran.elapsed,
            is_failed=has_failed(ran, end.members),
            is_broken=ran.end != "exited",
            folder=after,
        )

    def _timeout(self, arguments: Bash) -> timedelta:
        bounds = [self.limits.timeout]
        if arguments.timeout_s is not None:
            bounds.append(timedelta(seconds=arguments.timeout_s))
        if self.time_left is not None:
            bounds.append(max(self.time_left(), timedelta(seconds=1)))
        return min(bounds)

    async def _patch(self, call: ToolCall, arguments: ApplyPatch) -> Observation:
        try:
            changes = parse_patch(arguments.input)
        except PatchError as error:
            return _refused(call, f"The patch cannot be read: {error}\nNothing was changed.")
        paths = tuple(path for change in changes for path in change.paths())
        requests: list[JsonValue] = [change.request() for change in changes]
        return await self._change(call, paths, {"op": "apply_patch", "changes": requests})

    async def _change(
        self, call: ToolCall, paths: tuple[str, ...], request: Mapping[str, JsonValue]
    ) -> Observation:
        """Write only to paths that were judged under their resolved names.

        Each path is judged first as named. If links lead elsewhere, the program inside writes
        nothing and answers with the real path; it is asked again once that path was judged.
        """
        judged: list[JsonValue] = []
        waiting = [posixpath.normpath(path.removeprefix(f"{WORKSPACE}/")) for path in paths]
        for _ in range(_MOST_JUDGED + len(paths)):
            for path in waiting:
                if (rule := self.may_write(path) if self.may_write else None) is not None:
                    return _refused(call, f"{path!r} may not be written: {rule}")
            judged += waiting
            answer = await self._files().ask({**request, "judged": judged})
            if answer.kind != "judge":
                return _told(call, answer)
            waiting = [answer.text]
        named = ", ".join(map(repr, paths[:3]))
        return _refused(call, f"{named}: the path leads elsewhere each time. Name the file itself.")

    def _files(self) -> FileTools:
        return FileTools(self.sandbox, self.workspace, self.limits, self.hold)


def _told(call: ToolCall, answer: FileAnswer) -> Observation:
    result = _result(call, without_secrets(harmless(answer.text)), is_error=answer.kind != "text")
    return Observation(
        result=result,
        elapsed=answer.elapsed,
        is_failed=result.is_error,
        is_broken=answer.is_broken,
    )


def _refused(call: ToolCall, text: str) -> Observation:
    return Observation(result=_result(call, harmless(text), is_error=True), is_failed=True)


def _result(call: ToolCall, text: str, *, is_error: bool) -> ToolResult:
    return ToolResult(call_id=call.id, name=call.name, text=text, is_error=is_error)
