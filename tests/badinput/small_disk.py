"""A command whose data directory is on a small disk of its own, filled when a test says so."""

import contextlib
import errno
import os
import signal
import subprocess
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path

from tests.e2e.processes import ROOT, children, command_line, is_alive
from tests.waiting import PATIENCE, Shown, until_blocking


class OnSmallDisk:
    """A running command and its disk, which only the command sees by its path."""

    def __init__(self, disk: Path, process: "subprocess.Popen[bytes]") -> None:
        assert process.stdout is not None
        self.shown = Shown(process.stdout.fileno())
        self.logs = disk.with_suffix(".logs")
        self._process = process
        self._pid = _command_in(process)
        self._disk = Path(f"/proc/{self._pid}/root{disk}")

    def fill(self) -> None:
        """Write to the disk until nothing is free."""
        filling = os.open(self._disk / "fill", os.O_WRONLY | os.O_CREAT)
        try:
            while True:
                os.write(filling, bytes(1 << 20))
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
        finally:
            os.close(filling)

    def make_room(self) -> None:
        """Take away what filled the disk."""
        (self._disk / "fill").unlink()

    def kill_server(self) -> None:
        """Kill the command's own server."""
        (server,) = [each for each in children(self._pid) if "start-dev" in command_line(each)]
        os.kill(server, signal.SIGKILL)

    def end(self) -> int:
        """Ask the command to end, and return its exit code."""
        os.kill(self._pid, signal.SIGTERM)
        self.shown.rest()
        return self._process.wait(PATIENCE)

    def close(self) -> None:
        """Kill it where it still runs; what it started ends with it."""
        if is_alive(self._pid):
            os.kill(self._pid, signal.SIGKILL)
        self._process.wait(PATIENCE)


@contextlib.contextmanager
def on_small_disk(
    disk: Path, size: int, command: Sequence[str], variables: Mapping[str, str]
) -> Generator[OnSmallDisk]:
    """Run a command beside a disk of so many bytes; its logs are on another, in `DISK.logs`.

    Args:
        disk: an empty folder; the data directory is `data` in it.
        size: of the disk, in bytes.
        command: what is run; its errors go to `DISK.err`.
        variables: its environment.
    """
    logs = disk.with_suffix(".logs")
    logs.mkdir()
    small = (
        *("bwrap", "--dev-bind", "/", "/", "--size", str(size), "--tmpfs", str(disk)),
        *("--dir", str(disk / "data"), "--symlink", str(logs), str(disk / "data/logs")),
    )
    with (
        disk.with_suffix(".err").open("wb") as errors,
        subprocess.Popen(
            [*small, *command],
            env=variables,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
        ) as process,
    ):
        running = OnSmallDisk(disk, process)
        try:
            yield running
        finally:
            running.close()


def _command_in(bwrap: "subprocess.Popen[bytes]") -> int:
    """Return the process of the command itself, once bubblewrap has become it."""

    def become() -> list[int]:
        below = children(bwrap.pid)
        return [each for each in below if not command_line(each)[0].endswith("bwrap")]

    until_blocking(become, "the command begins", seen=lambda: command_line(bwrap.pid))
    return become()[0]
