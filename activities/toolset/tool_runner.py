"""Runs a model's tool calls over the port `Sandbox`, and words the answers.

Every call gets an answer: what is wrong with it is told to the model, never raised. Only a sandbox
that cannot start is raised, for that is nothing that a model could fix. Which calls may run and
which paths a task may write is decided elsewhere; here those decisions are asked for before
anything runs or is written. A denied call takes no other call of its turn along.
"""

import asyncio
import posixpath
import re
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
from activities.toolset.command_endings import notes_on
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
)
from workflows.domain.agent.messages import ToolCall, ToolResult
from workflows.domain.ids import Digest
from workflows.policy.text.secret_patterns import without_secrets

_MOST_JUDGED = 4

_PRELUDE = "exec 250>&1; trap 'printf \"\\n{mark} ${{PIPESTATUS[*]}}\\n\" >&250' EXIT; "
"""Before the command, on its first line so that bash counts its lines right: at the end the codes
of all members of the last pipe are printed behind a mark that no one can guess."""

_BATCH_OVER = (
    "Not run, because the time that the calls of one turn have together was used up by those "
    "before. Send it again in your next turn, and split what takes long over several turns."
)

MayWrite = Callable[[str], str | None]
"""Asked with a path relative to the workspace, links followed; a text is the rule that denies."""
Judge = Callable[[SandboxCall], str | None]
"""Asked with a call before it runs; a text is the rule that denies it."""


class Observation(BaseModel, frozen=True, extra="forbid"):
    """The answer to one call, and what is known about it beside its text."""

    result: ToolResult
    whole: Digest | None = None
    """The whole output in the store, where the text was cut."""
    elapsed: timedelta = timedelta()


@dataclass(frozen=True)
class Toolset:
    """The tools of one agent on one workspace."""

    sandbox: Sandbox
    blobs: BlobStore
    workspace: Workspace
    tools: tuple[str, ...]
    """Names of those that the agent has and that run here; see `schemas.sandbox_tools`."""
    limits: Limits = field(default_factory=Limits)
    """Of each command; `timeout_s` of a call can only shorten its time."""
    may_write: MayWrite | None = None
    """None: everything in the workspace."""
    judge: Judge | None = None
    """None: every call runs."""
    hold: int | None = None
    """The worktree's lock; it is held until the last process of a call is dead."""
    time_left: Callable[[], timedelta] | None = None
    """What the whole batch has left; None: no limit of its own."""
    others: tuple[str, ...] = ()
    """Those that it has and the workflow answers; only named to an agent that calls an unknown
    one."""

    async def run_call(self, call: ToolCall) -> Observation:
        """Run one call and answer it.

        Raises:
            SandboxUnavailableError: there is no sandbox; nothing ran.
        """
        if call.malformed is not None:
            # First: a `submit` comes here only when it is malformed, and is a tool all the same.
            again = "Send the call again, with its arguments as one JSON object."
            return _refused(call, f"{call.name}: the arguments are not a JSON object. {again}")
        if call.name not in self.tools:
            tools = ", ".join((*self.tools, *self.others))
            return _refused(call, f"There is no tool {call.name!r} here. Tools: {tools}.")
        if self.time_left is not None and self.time_left() <= timedelta():
            return _refused(call, _BATCH_OVER)
        try:
            arguments = parse(call.name, clean_table(call.arguments, keeps_nan=True))
        except ValidationError as error:
            return _refused(call, problems(call.name, error))
        if self.judge is not None and (rule := self.judge(arguments)) is not None:
            return _refused(call, rule)
        return await self._run(call, arguments)

    async def _run(self, call: ToolCall, arguments: SandboxCall) -> Observation:
        match arguments:
            case Bash():
                return await self._bash(call, arguments)
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
            return _refused(call, f"{arguments.path!r} is no output that is kept. {again}")
        # Megabytes of it would hold up the event loop.
        text = await asyncio.to_thread(page, output, arguments.offset, arguments.limit)
        return Observation(result=_result(call, text, is_error=False))

    async def _bash(self, call: ToolCall, arguments: Bash) -> Observation:
        limits = self.limits.lasting(self._timeout(arguments))
        mark = secrets.token_hex(8)
        argv = ("bash", "-c", _PRELUDE.format(mark=mark) + arguments.command)
        command = SandboxCommand(argv=argv, workspace=self.workspace, limits=limits)
        ran = await self.sandbox.run(command, self.hold)
        output, members = _split_members(ran.marked_output(), mark)
        output = redact_bytes(output)
        seen = shown(output)
        whole = await self.blobs.put(output) if seen.is_cut else None
        handle = handle_of(whole) if whole else ""
        text = seen.text(handle, ran.output_bytes).rstrip("\n") or "(no output)"
        notes = notes_on(ran, limits, arguments.command, members, self.limits.timeout)
        result = _result(call, "\n".join([text, *notes]), is_error=ran.end != "exited")
        return Observation(result=result, whole=whole, elapsed=ran.elapsed)

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
        """Write only to paths that were judged as what they resolve to.

        Each path as it is named is judged first. Where links lead one elsewhere, the program inside
        writes nothing and answers with the real path; it is asked again once that one was judged.
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
    return Observation(result=result, elapsed=answer.elapsed)


def _refused(call: ToolCall, text: str) -> Observation:
    return Observation(result=_result(call, harmless(text), is_error=True))


def _result(call: ToolCall, text: str, *, is_error: bool) -> ToolResult:
    return ToolResult(call_id=call.id, name=call.name, text=text, is_error=is_error)


def _split_members(output: bytes, mark: str) -> tuple[bytes, tuple[int, ...]]:
    """Take the pipe members' codes, which our trap printed, out of the output."""
    found = re.search(rb"\n?%s((?: \d+)*)\n" % mark.encode(), output)
    if found is None:
        return output, ()
    rest = output[: found.start()] + output[found.end() :]
    return rest, tuple(int(code) for code in found[1].split())
