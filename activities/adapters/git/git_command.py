"""Runs git hardened, without a shell, and always reaps it.

Nothing of this process's environment reaches git, and git runs nothing that a repository's
configuration, attributes or hooks name. A repository can still decide which filters its attributes
ask for. They exist only if a configuration defines them, which Blue Flame's repositories never do;
in the user's repository `user_git.without_programs` switches them off by name.
"""

import asyncio
import contextlib
import os
import tempfile
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from activities.ports.git_errors import GitCommandError, GitTimedOutError, OutputTooLargeError
from activities.process_end import end_group
from activities.uninterrupted import uninterrupted

ENVIRONMENT: Mapping[str, str] = {
    "LC_ALL": "C",
    "PATH": "/usr/bin:/bin",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    # A graft only hides parents that are there; a pack that leaves them out could not be read.
    "GIT_GRAFT_FILE": os.devnull,
    # Refs are also read and moved as files.
    "GIT_DEFAULT_REF_FORMAT": "files",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": ":",
    # For reflogs; the author of commits is `loose_objects.IDENTITY`.
    "GIT_COMMITTER_NAME": "Blue Flame",
    "GIT_COMMITTER_EMAIL": "blueflame@localhost",
    "GIT_AUTHOR_NAME": "Blue Flame",
    "GIT_AUTHOR_EMAIL": "blueflame@localhost",
}

SETTINGS: tuple[str, ...] = (
    f"core.hooksPath={os.devnull}",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    f"core.attributesFile={os.devnull}",
    f"core.excludesFile={os.devnull}",
    "submodule.recurse=false",
    "diff.ignoreSubmodules=all",
    "protocol.allow=never",
    "safe.bareRepository=explicit",
    "core.protectNTFS=true",
    "core.protectHFS=true",
    "commit.gpgSign=false",
    "credential.helper=",
    "gc.auto=0",
    "maintenance.auto=false",
)

GRACE_SECONDS = 2.0
STDERR_BYTES = 64 << 10
PIPE_BYTES = 1 << 20
_NOTHING = asyncio.subprocess.DEVNULL
OUTPUT_BYTES = 4 << 30
LIMIT_SECONDS = 5 * 60.0
"""Generous: a command that takes longer waits for something that never comes."""


@dataclass(frozen=True)
class Completed:
    """How a git command ended."""

    code: int
    stdout: bytes
    stderr: str

    def line(self) -> str:
        """Return the output as one line of text."""
        return os.fsdecode(self.stdout).strip()

    def records(self) -> list[bytes]:
        """Return the output split at its NULs."""
        return self.stdout.split(b"\0")[:-1]


@dataclass(frozen=True)
class Scope:
    """Where a command runs, and with which environment."""

    cwd: Path
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    """Added to `base`."""
    hold: tuple[int, ...] = ()
    """Descriptors of locks; the child inherits them, so an orphan keeps its lock."""
    uid: int | None = None
    """Run as this user and group; only root can."""
    gid: int | None = None
    limit_bytes: int = OUTPUT_BYTES
    limit_seconds: float = LIMIT_SECONDS
    settings: tuple[str, ...] = SETTINGS
    base: Mapping[str, str] = field(default_factory=lambda: ENVIRONMENT)
    source: int | None = None
    """A descriptor to read from in place of `stdin`; nothing passes through this process."""
    sink: int | None = None
    """A descriptor to write to; `Completed.stdout` is then empty, and nothing limits its size."""

    def having(self, **env: str) -> "Scope":
        """Return the same scope with further variables."""
        return replace(self, env={**self.env, **env})


def configuration(pairs: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return the variables that set configuration, for names with any character."""
    counted = {"GIT_CONFIG_COUNT": str(len(pairs))}
    for index, (key, value) in enumerate(pairs):
        counted |= {f"GIT_CONFIG_KEY_{index}": key, f"GIT_CONFIG_VALUE_{index}": value}
    return counted


@contextlib.contextmanager
def ending_at(scope: Scope, ends: Iterable[str]) -> Generator[Scope]:
    """Yield a scope in which histories end with these commits, whatever the repository says."""
    with tempfile.NamedTemporaryFile("w", prefix="blueflame-") as file:
        file.write("".join(f"{name}\n" for name in sorted(ends)))
        file.flush()
        yield scope.having(GIT_SHALLOW_FILE=file.name)


class Git:
    """The git program."""

    def __init__(self, executable: Path) -> None:
        """Take the program's absolute path; the wiring looks it up once."""
        self._executable = str(executable)

    async def run(
        self,
        scope: Scope,
        *arguments: str | bytes,
        stdin: bytes = b"",
        accept: tuple[int, ...] = (0,),
    ) -> Completed:
        """Run one git command to its end.

        Args:
            scope: where, and with what environment.
            arguments: the command and its arguments, without settings.
            stdin: its input.
            accept: exit codes that count as an answer.

        Raises:
            GitCommandError: it exited with another code.
            OutputTooLargeError: it wrote more than `scope.limit_bytes`.
            GitTimedOutError: it ran longer than `scope.limit_seconds`.
        """
        process = await self._started(scope, arguments, is_fed=bool(stdin))
        shown = tuple(os.fsdecode(argument) for argument in arguments)
        try:
            async with asyncio.timeout(scope.limit_seconds):
                stdout, stderr = await _exchange(process, stdin, scope.limit_bytes)
                code = await process.wait()
        except TimeoutError as error:
            await uninterrupted(_terminate(process))
            raise GitTimedOutError(shown, scope.cwd, scope.limit_seconds) from error
        except BaseException:
            await uninterrupted(_terminate(process))
            raise
        done = Completed(code, stdout, stderr.decode("utf-8", "replace"))
        if code not in accept:
            raise GitCommandError(shown, code, done.stderr)
        return done

    async def _started(
        self, scope: Scope, arguments: Sequence[str | bytes], *, is_fed: bool
    ) -> asyncio.subprocess.Process:
        # The program runs before asyncio has connected its pipes. If cancelled in between, asyncio
        # would kill only the program, and leave behind the processes that it has already started.
        starting = asyncio.ensure_future(self._start(scope, arguments, is_fed=is_fed))
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            await uninterrupted(_abandon(starting))
            raise

    async def _start(
        self, scope: Scope, arguments: Sequence[str | bytes], *, is_fed: bool
    ) -> asyncio.subprocess.Process:
        settings = [part for setting in scope.settings for part in ("-c", setting)]
        return await asyncio.create_subprocess_exec(
            self._executable,
            *settings,
            *arguments,
            stdin=_end(scope.source, asyncio.subprocess.PIPE if is_fed else _NOTHING),
            stdout=_end(scope.sink, asyncio.subprocess.PIPE),
            stderr=asyncio.subprocess.PIPE,
            limit=PIPE_BYTES,
            cwd=scope.cwd,
            env={**scope.base, **scope.env},
            pass_fds=scope.hold,
            process_group=0,
            user=scope.uid,
            group=scope.gid,
            extra_groups=None if scope.uid is None else (),
        )


def _end(given: int | None, otherwise: int) -> int:
    return otherwise if given is None else given


@contextlib.contextmanager
def first_failure() -> Generator[None]:
    """Raise a task group's single failure as itself, so that callers can match its type."""
    try:
        yield
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None


async def _exchange(
    process: asyncio.subprocess.Process, stdin: bytes, limit: int
) -> tuple[bytes, bytes]:
    """Feed and drain concurrently; a failure of one ends all three."""
    assert process.stderr is not None, "every command is started with this pipe"
    with first_failure():
        async with asyncio.TaskGroup() as group:
            if process.stdin is not None:
                group.create_task(_feed(process.stdin, stdin))
            out = group.create_task(_drain(process.stdout, limit))
            err = group.create_task(_keep(process.stderr, STDERR_BYTES))
    return out.result(), err.result()


async def _feed(pipe: asyncio.StreamWriter, data: bytes) -> None:
    # Git may end before it has read everything; its exit code says why.
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        pipe.write(data)
        await pipe.drain()
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        pipe.close()


async def _drain(pipe: asyncio.StreamReader | None, limit: int) -> bytes:
    parts: list[bytes] = []
    total = 0
    while pipe is not None and (part := await pipe.read(PIPE_BYTES)):
        total += len(part)
        if total > limit:
            raise OutputTooLargeError(f"git wrote more than {limit} bytes; ask for less at a time")
        parts.append(part)
    return b"".join(parts)


async def _keep(pipe: asyncio.StreamReader, limit: int) -> bytes:
    """Read to the end and keep the first `limit` bytes."""
    kept = b""
    while part := await pipe.read(STDERR_BYTES):
        kept += part[: limit - len(kept)]
    return kept


async def _abandon(starting: asyncio.Future[asyncio.subprocess.Process]) -> None:
    with contextlib.suppress(OSError):
        await _terminate(await starting)


async def _terminate(process: asyncio.subprocess.Process) -> None:
    """Terminate, wait, kill, reap, and wait for the group as long as it holds the pipes."""
    # SIGTERM first, so that git removes its own lock files.
    await end_group(process, "group", GRACE_SECONDS, lambda: _ended(process))
    # asyncio has no public way to close pipes that another process still holds.
    vars(process)["_transport"].close()


async def _ended(process: asyncio.subprocess.Process) -> None:
    # asyncio reports the end, and closes the pipes, only after they are read to their end.
    for pipe in (process.stdout, process.stderr):
        while pipe is not None and await pipe.read(PIPE_BYTES):
            pass
    await process.wait()
