"""A command that fills a terminal of a given size, and someone who looks at it and presses keys."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
from typing import Self

import pyte

from tests.e2e.processes import environment
from tests.waiting import PATIENCE, until_blocking
from workers.settings import Settings


class FullScreen:
    """A pseudo-terminal, emulated as a person sees it."""

    def __init__(
        self, settings: Settings, *arguments: str, size: tuple[int, int] = (80, 24), **more: str
    ) -> None:
        """Args: `size`: columns and rows; `more`: further variables."""
        columns, rows = size
        self._end, other = pty.openpty()
        fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        self.raw = b""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "starter", *arguments],
            env=environment(settings, TERM="xterm-256color", **more),
            stdin=other,
            stdout=other,
            stderr=other,
            start_new_session=True,
        )
        os.close(other)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        """End the command, if the test did not see its end."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    @property
    def text(self) -> str:
        """What stands on the screen now."""
        return "\n".join(line.rstrip() for line in self._screen.display)

    def sees(self, words: str) -> None:
        """Wait until the words stand on the screen; how far apart does not count."""
        wanted = " ".join(words.split())

        def stand_there() -> bool:
            self._read()
            return wanted in " ".join(self.text.split())

        until_blocking(stand_there, f"{words!r} on the screen", seen=lambda: self.text)

    def presses(self, keys: str) -> None:
        """Press keys."""
        os.write(self._end, keys.encode())

    def closes(self) -> None:
        """Close the terminal while the command runs."""
        os.close(self._end)

    def leaves(self) -> int:
        """Read to the end and return the exit code."""
        until_blocking(lambda: not self._read(), "the end of the command", seen=lambda: self.text)
        os.close(self._end)
        return self.process.wait(PATIENCE)

    def _read(self) -> bool:
        """Show what came since; False at the end."""
        while select.select([self._end], [], [], 0)[0]:
            try:
                chunk = os.read(self._end, 65_536)
            except OSError:
                return False  # this is how a terminal's end shows
            self.raw += chunk
            self._stream.feed(chunk)
        return True
