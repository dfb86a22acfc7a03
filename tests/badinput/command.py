"""A command on one repository, in this process, and all that it could leave behind."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from typer.testing import CliRunner

from starter.cli import app
from tests.e2e.processes import CONFIGURATION, environment
from workers.settings import Settings


class Command:
    """What a person types, with a data directory and a folder for temporary files of its own."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.data = top / "data"
        self.temporary = top / "temporary"
        self.temporary.mkdir()
        self.config = top / "config.yaml"
        self.config.write_text(CONFIGURATION)

    def variables(self, **more: str) -> dict[str, str]:
        """Return the environment of a command."""
        usual = environment(Settings(data_dir=self.data), TMPDIR=str(self.temporary))
        return {**usual, **more}

    def run_on(self, repository: Path, *arguments: str) -> tuple[int, str, str]:
        """Run `run` on a repository; return exit code, output and errors."""
        options = ("--config", str(self.config), "--repo", str(repository))
        return self.types("run", "Fix it", *options, *arguments)

    def types(
        self, *arguments: str, more: Mapping[str, str] = MappingProxyType({})
    ) -> tuple[int, str, str]:
        """Run a command; an exception that is no exit is an internal error."""
        result = CliRunner().invoke(app, arguments, env=self.variables(**more))
        assert isinstance(result.exception, SystemExit | None), result.exception
        return result.exit_code, result.stdout, result.stderr

    def left_behind(self) -> list[Path]:
        """Return what it made and did not take away again."""
        return [*self.temporary.iterdir(), *([self.data] if self.data.exists() else [])]
