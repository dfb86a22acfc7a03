"""What `run` and the commands of `config` have in common: the options that say settings."""

import contextlib
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from starter.errors import CommandError

if TYPE_CHECKING:
    from starter.configuration_layers import Sources

RepoOption = Annotated[Path, typer.Option(help="The repository, or a folder in it.")]
ConfigOption = Annotated[
    Path | None, typer.Option(help="Instead of the repository's blueflame.yaml.")
]
PacingOption = Annotated[
    Literal["wave", "flow"] | None, typer.Option(help="When dependants start.")
]
AutoApproveOption = Annotated[
    bool, typer.Option("--auto-approve", help="Ask nobody; merge what is green, stop at the cap.")
]
PlaybookOption = Annotated[
    Path | None, typer.Option(help="A scripted model plays this file; nothing is paid.")
]


@dataclass(frozen=True)
class Choices:
    """What options said about settings."""

    config: Path | None = None
    pacing: str | None = None
    auto_approve: bool = False
    playbook: bool = False


def sources(choices: Choices, root: Path | None) -> "Sources":
    """Return where settings are looked for.

    Args:
        choices: of the command.
        root: the repository's; None: there is none.
    """
    from starter.configuration import user_file
    from starter.configuration_layers import Sources

    flags: dict[str, object] = {}
    options: dict[str, str] = {}
    if choices.pacing is not None:
        flags["pacing"], options["pacing"] = choices.pacing, "--pacing"
    if choices.auto_approve:
        # Nobody watches: a pause at the cap would wait for ever.
        said = {
            "approvals.plan": "auto",
            "approvals.changeset": "auto_if_green",
            "on_cap": "stop",
        }
        flags |= said
        options |= dict.fromkeys(said, "--auto-approve")
    return Sources(user_file(), root, choices.config, flags, options, choices.playbook)


@contextlib.contextmanager
def complaining() -> Generator[None]:
    """Turn what is wrong with a configuration into what a command says.

    Raises:
        CommandError: the configuration is wrong.
    """
    from starter.configuration_errors import ConfigurationError

    try:
        yield
    except ConfigurationError as error:
        raise CommandError(str(error)) from error
