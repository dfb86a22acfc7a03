"""A small repository, and a scripted session in which a developer writes `note.txt`."""

import contextlib
import subprocess
from collections.abc import Generator
from pathlib import Path

from starter.console.exit_codes import ExitCode
from tests.e2e.processes import blueflame, repository
from workers.settings import Settings

PLANNER = """
  - role: planner
    turns:
      - calls:
          - submit_plan:
              tasks:
                - {id: note, title: A note, acceptance_criteria: [It is there], claims: [note.txt]}
"""
DEVELOPER = """
  - role: developer
    turns:
      - calls: [{write: {path: note.txt, content: "a note\\n"}}]
      - calls: [{submit: {summary: "It is there."}}]
"""
REVIEWER = """
  - role: reviewer
    turns:
      - calls:
          - submit_verdict:
              approve: true
              summary: "It is there."
              evidence:
                - {criterion: "1", path: note.txt, line_start: 1, line_end: 1, quote: a note}
"""
_CONFIGURATION = """
version: 1
sandbox: none
models: {planner: [scripted/a], developer: [scripted/a], reviewer: [scripted/b]}
"""


class NotePlace:
    """A repository, and what its sessions are started with."""

    def __init__(self, root: Path, configuration: str, *scenes: str) -> None:
        """Write all files.

        Args:
            root: an empty folder.
            configuration: what stands in `blueflame.yaml` besides the models.
            scenes: of the playbook.
        """
        self.settings = Settings(data_dir=root / "data", temporal_port=0, ui_port=0, sandbox="none")
        self.repository = repository(root / "sample", {"a.txt": "a\n"})
        self.config, self.playbook = root / "config.yaml", root / "playbook.yaml"
        self.config.write_text(_CONFIGURATION + configuration)
        self.playbook.write_text("schema: 1\nname: note\nscenes:" + "".join(scenes))

    def types(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run one command to its end."""
        return blueflame(self.settings, *arguments)

    def runs(self, *more: str) -> subprocess.CompletedProcess[str]:
        """Run `blueflame run` on the repository to its end."""
        options = {"--repo": self.repository, "--config": self.config, "--playbook": self.playbook}
        given = [part for name, path in options.items() for part in (name, str(path))]
        return self.types("run", *given, *more)

    def branches(self) -> list[str]:
        """Name the repository's branches."""
        git = ("git", "-C", str(self.repository), "branch", "--format=%(refname:short)")
        return subprocess.run(git, check=True, capture_output=True, text=True).stdout.split()


@contextlib.contextmanager
def served(place: NotePlace) -> Generator[None]:
    """Start server and workers that outlast each command."""
    up = place.types("up", "--detach", "--playbook", str(place.playbook))
    assert up.returncode == ExitCode.COMPLETE, up.stdout + up.stderr
    try:
        yield
    finally:
        place.types("up", "--stop")
