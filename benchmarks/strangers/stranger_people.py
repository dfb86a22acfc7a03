"""The users who try a project: root, and an ordinary user who is created and removed again."""

import os
import pwd
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

_USER: Final = f"blueflame-{os.getpid()}"
_DROPPED: Final = ("BLUEFLAME_", "TEMPORAL_", "ANTHROPIC_", "OPENAI_", "GEMINI_", "GOOGLE_", "XDG_")
_SYSTEM_PATH: Final = "/usr/local/bin:/usr/bin:/bin"
_INSTALL_S: Final = 900


@dataclass(frozen=True)
class Person:
    """A user who runs Blue Flame."""

    kind: Literal["root", "ordinary"]
    name: str
    uid: int
    gid: int
    program: Path
    """The command `blueflame` of this user."""

    def own(self, folder: Path, mode: int = 0o700) -> None:
        """Give a folder and all its content to this user."""
        folder.mkdir(exist_ok=True)
        folder.chmod(mode)
        for place, folders, files in os.walk(folder):
            for each in (place, *(Path(place, name) for name in (*folders, *files))):
                os.chown(each, self.uid, self.gid, follow_symlinks=False)

    def environment(self, home: Path, data: Path) -> dict[str, str]:
        """Return the variables of this user's shell, with the network's settings."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_DROPPED)}
        kept.pop("PYTHONPATH", None)
        path = kept.get("PATH", _SYSTEM_PATH) if self.uid == os.getuid() else _SYSTEM_PATH
        return kept | {
            "HOME": str(home),
            "USER": self.name,
            "LOGNAME": self.name,
            "PATH": path,
            "BLUEFLAME_DATA_DIR": str(data),
            "BLUEFLAME_TEMPORAL_PORT": "0",
            "BLUEFLAME_UI_PORT": "0",
            # Never used: a playbook speaks.
            "ANTHROPIC_API_KEY": "simulated",
        }

    def run(
        self, arguments: Sequence[str], variables: Mapping[str, str], log: Path, seconds: float
    ) -> tuple[int, str]:
        """Run `blueflame`; return its code and output, which the log also gets.

        Args:
            arguments: of `blueflame`.
            variables: its whole environment.
            log: a file that is appended to.
            seconds: how long it may take; after that its processes are killed, with code 124.
        """
        folder = variables["HOME"]
        with log.open("a+b") as file:
            file.write(f"\n$ blueflame {' '.join(arguments)}\n".encode())
            file.flush()
            start = file.tell()
            process = subprocess.Popen(
                [str(self.program), *arguments], env=dict(variables), cwd=folder,
                stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT,
                user=self.uid, group=self.gid, start_new_session=True,
                extra_groups=None if self.uid == os.getuid() else [],
            )  # fmt: skip
            try:
                code = process.wait(seconds)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                code = 124
            file.seek(start)
            return code, file.read().decode(errors="replace")


def myself() -> Person:
    """Return the user who runs this process."""
    program = Path(sys.executable).with_name("blueflame")
    kind = "root" if os.getuid() == 0 else "ordinary"
    name = pwd.getpwuid(os.getuid()).pw_name
    return Person(kind, name, os.getuid(), os.getgid(), program)


@contextmanager
def ordinary_user(scratch: Path, source: Path) -> Generator[Person]:
    """Create a user with a readable installation; remove the user and their processes at the end.

    Args:
        scratch: a folder that other users can enter.
        source: the tree of Blue Flame that is installed.
    """
    subprocess.run(["useradd", "--no-create-home", "--shell", "/bin/bash", _USER], check=True)
    try:
        entry = pwd.getpwnam(_USER)
        program = _install(scratch / "blueflame", source)
        yield Person("ordinary", _USER, entry.pw_uid, entry.pw_gid, program)
    finally:
        _end_processes(pwd.getpwnam(_USER).pw_uid)
        subprocess.run(["userdel", _USER], check=True)


def _install(place: Path, source: Path) -> Path:
    """Install Blue Flame with an interpreter that every user can start."""
    program = place / "bin/blueflame"
    if program.exists():
        return program
    python = next(
        (each for each in ("/usr/bin/python3", shutil.which("python3")) if each and _is_new(each)),
        sys.executable,
    )
    pip = [f"{place}/bin/python", "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    for command in (
        [python, "-m", "venv", str(place)],
        [*pip, "--require-hashes", "--only-binary", ":all:", "-r", f"{source}/requirements.lock"],
        [*pip, "--no-deps", "--no-build-isolation", str(source)],
    ):
        subprocess.run(command, check=True, timeout=_INSTALL_S)
    return program


def _is_new(python: str) -> bool:
    test = "import ensurepip, sys; sys.exit(sys.version_info < (3, 11))"
    return subprocess.run([python, "-c", test], check=False, capture_output=True).returncode == 0


def _end_processes(uid: int) -> None:
    """Kill the created user's processes, and wait until they have ended."""
    deadline = time.monotonic() + 30
    while running := [pid for pid in _processes() if _owner(pid) == uid]:
        if time.monotonic() > deadline:
            raise TimeoutError(f"processes of {_USER} did not exit: {running}")
        for pid in running:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        time.sleep(0.1)


def _processes() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]


def _owner(pid: int) -> int | None:
    try:
        if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
            return None
        return Path(f"/proc/{pid}").stat().st_uid
    except OSError:
        return None
