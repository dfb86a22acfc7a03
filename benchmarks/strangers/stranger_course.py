"""Tries one project as one user: init, their own file, doctor, a session, and a final check."""

import hashlib
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

from benchmarks.strangers import stranger_archives
from benchmarks.strangers.stranger_people import Person
from benchmarks.strangers.stranger_results import Result
from benchmarks.strangers.stranger_session import worktree_seconds, write_playbook
from benchmarks.strangers.stranger_shape import Project

_WRITTEN: Final = "blueflame.yaml"
_OWN_LINE: Final = re.compile(r"^#   ((?:environment|worktree): .*)$", re.MULTILINE)
_SETUP: Final = re.compile(r"commands? in ([\d.]+) s")
_INIT_S: Final = 60
_DOCTOR_S: Final = 1500
_UP_S: Final = 120
_SESSION_S: Final = 900


class CourseError(Exception):
    """A step failed; the text says which and how."""


class Course:
    """The steps of one project for one user, in order."""

    def __init__(self, project: Project, person: Person, folder: Path) -> None:
        """Take a folder that contains only the repository, as `repository`."""
        self._project = project
        self._person = person
        self._folder = folder
        self._root = folder / "repository"
        self._home = folder / "home"
        self._variables = person.environment(self._home, folder / "data")
        self.result = Result(
            project.name, project.kinds, person.kind, log=str(folder / "course.log")
        )

    def take(self) -> None:
        """Take all steps; `result` has their outcome, even if one fails.

        Raises:
            CourseError: a step failed, so the following ones were not taken.
        """
        self._prepare()
        before = _picture(self._root)
        written = self._init()
        self._doctor()
        self._session()
        self._compare(before, written)

    def _prepare(self) -> None:
        for each in (self._home, self._folder / "data", self._root):
            self._person.own(each, 0o755 if each == self._root else 0o700)
        if "rust" in self._project.toolchains:
            _put_rust(self._home / ".cargo")

    def _init(self) -> bytes:
        """Let `init` write its file, allow what it needs, and commit it."""
        self._blueflame("init", "--repo", str(self._root), seconds=_INIT_S)
        file = self._root / _WRITTEN
        lines = _OWN_LINE.findall(file.read_text(encoding="utf-8"))
        own = self._home / ".config/blueflame/blueflame.yaml"
        own.parent.mkdir(parents=True)
        own.write_text("\n".join(("version: 1", *lines, "")), encoding="utf-8")
        self._person.own(self._home / ".config")
        stranger_archives.commit(self._root, _WRITTEN, "Configure Blue Flame")
        self._person.own(self._root, 0o755)
        return file.read_bytes()

    def _doctor(self) -> None:
        code, said = self._try("doctor", "--repo", str(self._root), "--json", seconds=_DOCTOR_S)
        try:
            checks = json.loads(said)["checks"]
        except ValueError:
            raise CourseError(f"doctor ended with {code}: {said.strip()[-500:]}") from None
        for check in checks:
            name, text = check["name"], check["text"]
            if name == "set-up" and (took := _SETUP.search(text)):
                self.result.setup_s = float(took[1])
            if name.startswith("gate "):
                self.result.on_base[name.removeprefix("gate ")] = _outcome(text)
            if check["state"] == "missing":
                self.result.faults.append(f"doctor: {name}: {text[:300]}")
        if code != 0 and not self.result.faults:
            raise CourseError(f"doctor ended with {code}")

    def _session(self) -> None:
        playbook = self._folder / "playbook.yaml"
        write_playbook(self._project, self._root, playbook)
        self._blueflame("up", "--detach", "--playbook", str(playbook), seconds=_UP_S)
        try:
            goal = ("run", "One more function, with a test", "--auto-approve")
            places = ("--repo", str(self._root), "--playbook", str(playbook))
            self._try(*goal, *places, seconds=_SESSION_S)
            self._read_end()
        finally:
            self._blueflame("up", "--stop", seconds=_UP_S)

    def _read_end(self) -> None:
        _, listed = self._try("ls", "--json", seconds=_INIT_S)
        sessions = json.loads(listed)["sessions"]
        if not sessions:
            raise CourseError("no session was started")
        _, said = self._try("status", sessions[0]["session"], "--json", seconds=_INIT_S)
        status = json.loads(said)
        self.result.end = status["outcome"] or status["phase"]
        self.result.judged = tuple(
            dict.fromkeys(gate for each in status["changesets"] for gate in each["judged_by"])
        )
        if self.result.end != "complete":
            self.result.faults.append(f"the session ended {self.result.end}: {status['reason']}")
        seconds = worktree_seconds(self._folder / "data")
        self.result.first_s = next(iter(seconds), None)
        self.result.second_s = seconds[1] if len(seconds) > 1 else None

    def _compare(self, before: dict[str, str], written: bytes) -> None:
        after = _picture(self._root)
        changed = {
            path for path in {*before, *after} - {_WRITTEN} if before.get(path) != after.get(path)
        }
        self.result.is_identical = not changed
        if changed:
            self.result.faults.append(f"changed in the checkout: {', '.join(sorted(changed)[:8])}")
        committed = stranger_archives.git(self._root, "show", f"HEAD:{_WRITTEN}")
        self.result.has_hand_edits = committed != written

    def _blueflame(self, *arguments: str, seconds: float) -> None:
        code, said = self._try(*arguments, seconds=seconds)
        if code != 0:
            raise CourseError(f"{' '.join(arguments[:2])} ended with {code}: {said.strip()[-300:]}")

    def _try(self, *arguments: str, seconds: float) -> tuple[int, str]:
        log = Path(self.result.log)
        return self._person.run(arguments, self._variables, log, seconds)


def _outcome(text: str) -> str:
    if text.startswith("can judge: passed"):
        return "passed"
    return "failed" if text.startswith("can judge") else "cannot judge"


def _picture(root: Path) -> dict[str, str]:
    """Return a digest of each file of the checkout, with its mode, except in `.git`."""
    found: dict[str, str] = {}
    for place, folders, files in os.walk(root):
        folders[:] = [name for name in folders if Path(place, name) != root / ".git"]
        for name in files:
            path = Path(place, name)
            data = str(path.readlink()).encode() if path.is_symlink() else path.read_bytes()
            mode = path.lstat().st_mode
            found[str(path.relative_to(root))] = f"{mode:o} {hashlib.sha256(data).hexdigest()}"
    return found


def _put_rust(place: Path) -> None:
    """Put the machine's Rust where a person has theirs, by links where the disk allows it."""
    rustc = shutil.which("rustc")
    if rustc is None:
        raise CourseError("no rustc is on PATH; on Debian: apt-get install cargo")
    asked = subprocess.run(
        [rustc, "--print", "sysroot"], check=True, capture_output=True, text=True, timeout=60
    )
    root = Path(asked.stdout.strip())
    if not (root / "bin/cargo").exists():
        raise CourseError(f"no cargo is beside rustc in {root}/bin")
    if root == Path("/usr"):
        return  # the sandbox shows it
    try:
        for part in ("bin", "lib"):
            shutil.copytree(root / part, place / part, symlinks=True, copy_function=os.link)
    except OSError:
        shutil.rmtree(place, ignore_errors=True)
        for part in ("bin", "lib"):
            shutil.copytree(root / part, place / part, symlinks=True)
