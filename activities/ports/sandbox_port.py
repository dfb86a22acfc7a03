"""A command in a sandbox, as typed request and response; one contract suite for all adapters."""

from datetime import timedelta
from pathlib import Path
from typing import Literal, Protocol, Self

from pydantic import BaseModel, Field

from workflows.domain.environment import CommandBounds, ProjectEnvironment

WORKSPACE = "/workspace"
"""Where every worktree and gate checkout appears inside, so that recorded paths stay valid."""

INSIDE = "BLUEFLAME_INSIDE"
"""Set in every command's environment: it marks commands that a session started."""


class Limits(BaseModel, frozen=True, extra="forbid"):
    """Bounds of one command."""

    timeout: timedelta = timedelta(seconds=120)
    memory_bytes: int = Field(default=4 << 30, gt=0)
    processes: int = Field(default=512, gt=0)
    file_bytes: int = Field(default=1 << 30, gt=0)
    """The largest file that may be written."""
    disk_bytes: int = Field(default=4 << 30, gt=0)
    """How much the workspace may grow; the watchdog checks it."""
    output_bytes: int = Field(default=8 << 20, gt=0)
    """Output kept: its first half and its last; what is between them is counted and dropped."""

    @classmethod
    def within(cls, bounds: CommandBounds, timeout: timedelta = timedelta(seconds=120)) -> Self:
        """Return a person's bounds for commands, with a time limit."""
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
    """A snapshot that appears beneath a workspace. Writes go to the workspace."""

    root: Path
    """A folder on the host, absolute; the other three are relative to it, on one file system."""
    lower: str = Field(pattern=rf"^{_INSIDE_ROOT}$")
    """The snapshot's files; never written."""
    upper: str = Field(pattern=rf"^{_INSIDE_ROOT}$")
    """The workspace itself."""
    work: str = Field(pattern=rf"^{_INSIDE_ROOT}$")
    """Scratch space of the mount, made for each command."""


class Layering(BaseModel, frozen=True, extra="forbid"):
    """How workspaces on this machine can share the result of one set-up."""

    kind: Literal["mounted", "copied", "none"]
    """`mounted`: as `Workspace.layer`. `copied`: each has its own copy. `none`: not at all, because
    workspaces appear at different paths, and the results of set-up contain that path."""
    reason: str = ""
    """Why not `mounted`, for a person."""


class Workspace(BaseModel, frozen=True, extra="forbid"):
    """The tree that a command sees at `WORKSPACE`."""

    path: Path
    """The worktree or checkout on the host, absolute."""
    git_dir: Path | None = None
    """The bare repository, read-only at `/git`; each command has its own index, HEAD and folder of
    new objects, which end with it. None: no git inside."""
    git_name: str | None = None
    """Its name under `git_dir/worktrees/`; inside, `.git` says `/git/worktrees/<name>`."""
    writable: bool = True
    environment: ProjectEnvironment = ProjectEnvironment()
    """Toolchains and variables of the project."""
    layer: Layer | None = None
    """The snapshot beneath it; None: none."""


class SandboxCommand(BaseModel, frozen=True, extra="forbid"):
    """One command, run without a shell; name a shell as the first argument if you want one."""

    argv: tuple[str, ...] = Field(min_length=1)
    workspace: Workspace
    stdin: bytes = b""
    env: tuple[tuple[str, str], ...] = ()
    """Added to the fixed environment; nothing of the host's environment is inherited."""
    network: tuple[str, ...] = ()
    """Hosts that it may reach, as entries of `policy.network.host_list`, through a proxy that its
    environment names. Only set-up has any; without a sandbox nothing enforces the list."""
    limits: Limits = Limits()


class SandboxResult(BaseModel, frozen=True, extra="forbid"):
    """How the command ended. All its processes are dead by now."""

    end: Literal["exited", "signalled", "timed_out", "out_of_memory", "out_of_disk"]
    code: int
    """The exit code, or a signal's number; after a limit, the signal that ended it."""
    output: bytes
    """stdout and stderr interleaved as they arrived, at most `Limits.output_bytes`."""
    output_bytes: int
    """The total size of the output."""
    cut_at: int | None = None
    """Where in `output` bytes are missing, because there were more; None: nowhere."""
    survivors: int
    """How many processes outlived the command's first process, and were then ended."""
    elapsed: timedelta
    refusals: tuple[str, ...] = ()
    """Network requests that failed, and why, for a person; without repeats."""

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
    """What the sandbox on this machine can do."""

    usable: bool
    name: str
    """`bubblewrap 0.8.0`, or `none`."""
    reason: str | None
    """Why it is not usable, and how to fix it, in one or two sentences."""
    warnings: tuple[str, ...] = ()


class Sandbox(Protocol):
    """Runs commands confined."""

    async def probe(self) -> SandboxProbe:
        """Test the real arrangement once and report the result; never raises."""
        ...

    async def layering(self, near: Path) -> Layering:
        """Say how workspaces can share a set-up; tested once in a process, never raises.

        Args:
            near: a folder on the file system of the workspaces; it is made if missing.
        """
        ...

    async def run(self, command: SandboxCommand, hold: int | None = None) -> SandboxResult:
        """Run one command to its end, kill what it leaves, and reap it, even under cancellation.

        Args:
            command: what to run, and where.
            hold: a file descriptor (the worktree's lock) that stays open as long as the command
                runs, even if this process dies: the lock is free only when its processes are
                dead. A process that waited for the lock gives the kernel 50 ms more: after a kill,
                the first process closes its files up to a millisecond before the others end.

        Raises:
            SandboxUnavailableError: the sandbox could not be set up; nothing ran.
        """
        ...


class SandboxUnavailableError(Exception):
    """There is no sandbox here; the message says why and how to fix it."""
