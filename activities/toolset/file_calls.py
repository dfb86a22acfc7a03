"""The host's side of the file tools: runs the program `inside` in the sandbox."""

import functools
import importlib.resources
import marshal
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from pydantic import JsonValue

from activities.ports.sandbox_port import Limits, Sandbox, SandboxCommand, Workspace
from activities.toolset import inside
from activities.toolset.command_endings import ending

_TIMEOUT = timedelta(seconds=20)
_ANSWER_BYTES = 1 << 20
_MODULES = ("file_access", "file_edit", "file_hunks", "file_patch", "file_tools")
"""The program's modules, each after those that it imports; the last one is run."""
_LOADER = """\
import marshal, sys
program, request = marshal.loads(sys.stdin.buffer.read())
for name, code in marshal.loads(program):
    module = sys.modules[name] = type(sys)(name)
    exec(code, module.__dict__)
module.main(request)
"""
"""Reads everything at once: from a file, `marshal` asks for a few bytes at a time."""
_KINDS = ("text", "error", "judge")


@dataclass(frozen=True)
class FileAnswer:
    """The answer of the program inside."""

    kind: Literal["text", "error", "judge"]
    text: str
    elapsed: timedelta
    is_broken: bool = False
    """The program inside did not answer: the fault is not the request's."""


@dataclass(frozen=True)
class FileTools:
    """Runs file operations on one workspace."""

    sandbox: Sandbox
    workspace: Workspace
    limits: Limits
    hold: int | None = None

    async def ask(self, request: Mapping[str, JsonValue]) -> FileAnswer:
        """Run one request; `inside.file_tools` defines requests.

        Raises:
            SandboxUnavailableError: there is no sandbox; nothing ran.
        """
        limits = self.limits.lasting(_TIMEOUT, _ANSWER_BYTES)
        command = SandboxCommand(
            # The program is passed in compiled, because the same Python runs it.
            argv=(_interpreter(), "-I", "-S", "-c", _LOADER),
            workspace=self.workspace,
            stdin=marshal.dumps((_program(), dict(request))),
            limits=limits,
        )
        ran = await self.sandbox.run(command, self.hold)
        kind, _, text = ran.marked_output().decode("utf-8", "replace").partition("\n")
        if ran.end == "exited" and ran.code == 0 and kind in _KINDS:
            return FileAnswer(kind, text, ran.elapsed)
        said = ran.output[-500:].decode("utf-8", "replace")
        text = f"The file tool: {ending(ran, limits)}. {said}"
        return FileAnswer("error", text, ran.elapsed, is_broken=True)


@functools.cache
def _interpreter() -> str:
    """Return the real interpreter, because the sandbox does not show the virtual environment."""
    return os.path.realpath(sys.executable)


@functools.cache
def _program() -> bytes:
    """Return the program compiled, so that the sandbox's Python need not parse it."""
    folder = importlib.resources.files(inside)
    sources = [(name, (folder / f"{name}.py").read_text("utf-8")) for name in _MODULES]
    return marshal.dumps(
        [
            (f"{inside.__name__}.{name}", compile(text, f"{name}.py", "exec", dont_inherit=True))
            for name, text in sources
        ]
    )
