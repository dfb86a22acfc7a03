"""A command in a sandbox, as typed request and response; one contract suite for all adapters."""

from datetime import timedelta
from pathlib import Path
from typing import Literal, Protocol, Self

from pydantic import BaseModel, Field

from workflows.domain.environment import CommandBounds, ProjectEnvironment

WORKSPACE = "/workspace"
"""Where every worktree and gate checkout appears inside, so that recorded paths stay valid."""

INSIDE = "BLUEFLAME_INSIDE"
"""Set in every command's environment: whatever runs there was started by a session."""


class Limits(BaseModel, frozen=True, extra="forbid"):
    """Bounds of one command."""

    timeout: timedelta = timedelta(seconds=120)
    memory_bytes: int = Field(default=4 << 30, gt=0)
    processes: int = Field(default=512, gt=0)
    file_bytes: int = Field(default=1 << 30, gt=0)
    """The largest file that may be written."""
    disk_bytes: int = Field(default=4 << 30, gt=0)
    """What the workspace may grow by, checked by the watchdog."""
    output_bytes: int = Field(default=8 << 20, gt=0)
    """Output kept: its first half and its last; what is between them is counted and dropped."""

    @classmethod
    def within(cls, bounds: CommandBounds, timeout: timedelta = timedelta(seconds=120)) -> Self:
        """Return the bounds that a person set for commands, with a time limit."""
        return cls(
            timeout=timeout,
            memory_bytes=bounds.memory_mb << 20,
            processes=bounds.processes,
            file_bytes=bounds.file_mb << 20,
            disk_bytes=bounds.disk_mb << 20,
        )

    def lasting(self, timeout: timedelta, output_bytes: int | None = None) -> "Limits":
        """Return the same bounds with another time limit and, if given, one on the output."""
        return Limits(
            timeout=timeout,
            memory_bytes=self.memory_bytes,
            processes=self.processes,
            file_bytes=self.file_bytes,
            disk_bytes=self.disk_bytes,
            output_bytes=self.output_bytes if output_bytes is None else output_bytes,
        )


_LINE_BYTES = 4_096

_INSIDE_ROOT = r"[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*"


class Layer(BaseModel, frozen=True, extra="forbid"):
    """A snapshot that is seen beneath a workspace. Whatever is written goes to the workspace."""

    root: Path
    """A folder on the host, absolute; the other three are relative to it, on one file system."""
    lower: str = Field(pattern=rf"^{_INSIDE_ROOT}$")
    """The snapshot's files; never written."""
    upper: str = Field(pattern=rf"^{_INSIDE_ROOT}$")
    """The workspace itself."""
    work: str = Field(pattern=rf"^{_INSIDE_ROOT}$")
    """Scratch space of the mount, made new for each command."""


class Layering(BaseModel, frozen=True, extra="forbid"):
    """How workspaces can share the result of one set-up here."""

    kind: Literal["mounted", "copied", "none"]
    """`mounted`: as `Workspace.layer`. `copied`: each has its own copy. `none`: not at all, because
    workspaces do not appear at one path, and what set-up makes holds that path."""
    reason: str = ""
    """Why not `mounted`, for a person."""


class Workspace(BaseModel, frozen=True, extra="forbid"):
    """The tree that a command sees at `WORKSPACE`."""

    path: Path
    """The worktree or checkout on the host, absolute."""
    git_dir: Path | None = None
    """The own bare repository, bound read-only at `/git`; None: no git inside."""
    git_name: str | None = None
    """Its name under `git_dir/worktrees/`; inside, `.git` says `/git/worktrees/<name>`."""
    writable: bool = True
    environment: ProjectEnvironment = ProjectEnvironment()
    """Toolchains and variables of the project."""
    layer: Layer | None = None
    """What is seen beneath it; None: nothing."""


class SandboxCommand(BaseModel, frozen=True, extra="forbid"):
    """One command. No shell: a shell, where wanted, is the first argument."""

    argv: tuple[str, ...] = Field(min_length=1)
    workspace: Workspace
    stdin: bytes = b""
    env: tuple[tuple[str, str], ...] = ()
    """Added to the fixed environment; nothing of the host's is ever inherited."""
    network: tuple[str, ...] = ()
    """Hosts that it may reach, as entries of `policy.hosts`, through a proxy that its environment
    names. Only set-up has any; without a sandbox no one is held back."""
    limits: Limits = Limits()


class SandboxResult(BaseModel, frozen=True, extra="forbid"):
    """How the command ended. All its processes are dead when this is returned."""

    end: Literal["exited", "signalled", "timed_out", "out_of_memory", "out_of_disk"]
    code: int
    """The exit code, or the signal's number; after a limit the signal that ended it."""
    output: bytes
    """stdout and stderr interleaved as they came, at most `Limits.output_bytes`."""
    output_bytes: int
    """How many bytes came in all."""
    cut_at: int | None = None
    """Where in `output` bytes are missing, because there were more; None: nowhere."""
    survivors: int
    """Processes that were still alive when the command's first process ended, and were ended."""
    elapsed: timedelta
    refusals: tuple[str, ...] = ()
    """What it asked of the network and did not get, and why, for a person; each once."""

    def marked_output(self) -> bytes:
        """Return the output in whole lines, with a line that says how much is missing, and where.

        Parts of lines beside the gap go too: half a line means something else, and half a secret is
        not known for one.
        """
        if self.cut_at is None:
            return self.output
        head, tail = self.output[: self.cut_at], self.output[self.cut_at :]
        end = head.rfind(b"\n", max(0, len(head) - _LINE_BYTES)) + 1 or len(head)
        start = tail.find(b"\n", 0, _LINE_BYTES) + 1
        missing = self.output_bytes - end - (len(tail) - start)
        gap = f"[… {missing} of {self.output_bytes} bytes are left out here …]\n".encode()
        return b"".join(
            (head[:end], b"" if head[:end].endswith(b"\n") else b"\n", gap, tail[start:])
        )


class SandboxProbe(BaseModel, frozen=True, extra="forbid"):
    """What the sandbox here can do."""

    usable: bool
    name: str
    """`bubblewrap 0.8.0`, or `none`."""
    reason: str | None
    """Why it is not usable, and how to fix it, in one or two sentences."""
    warnings: tuple[str, ...] = ()


class Sandbox(Protocol):
    """Runs commands confined."""

    async def probe(self) -> SandboxProbe:
        """Try the real arrangement once and say what works; never raises."""
        ...

    async def layering(self, near: Path) -> Layering:
        """Say how workspaces can share a set-up; tried once in a process, never raises.

        Args:
            near: a folder on the file system of the workspaces; it is made where it is missing.
        """
        ...

    async def run(self, command: SandboxCommand, hold: int | None = None) -> SandboxResult:
        """Run one command to its end, kill what it leaves, and reap it, even under cancellation.

        Args:
            command: what to run, and where.
            hold: a file descriptor (the worktree's lock) that stays open as long as the command
                runs, even if we die: the lock is free only when its processes are dead. Whoever had
                to wait for the lock gives the kernel 50 ms more: where we were killed, the first
                process closes its files up to a millisecond before the others are ended.

        Raises:
            SandboxUnavailableError: the arrangement could not be made; nothing ran.
        """
        ...


class SandboxUnavailableError(Exception):
    """There is no sandbox here; the message says why and how to fix it."""
