"""`models`: which models would be asked, what is known of them, and a tiny call to each."""

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from starter.console.exit_codes import ExitCode
from starter.console.nested_session import refuse_inside
from starter.console.terminal import command, write
from starter.input.session_options import JsonOption

if TYPE_CHECKING:
    from starter.machine.model_list import ModelLine
    from workers.model_trial import TrialReport


@command
async def models(
    action: Annotated[
        Literal["list", "test"],
        typer.Argument(help="`list` (default), or `test`: one tiny paid call to each."),
    ] = "list",
    *,
    repo: Annotated[Path, typer.Option(help="Repository whose blueflame.yaml to use.")] = Path(),
    config: Annotated[
        Path | None,
        typer.Option(help="Configuration file. Default: the repository's blueflame.yaml."),
    ] = None,
    playbook: Annotated[
        Path | None, typer.Option(help="Use this playbook, as `run` would.")
    ] = None,
    json: JsonOption = False,
) -> ExitCode:
    """List the configured models, or test each with one tiny call."""
    from starter.console import json_output
    from starter.machine import model_list

    if action == "test":
        refuse_inside("models test")
    lines = _configured(repo, config, playbook)
    if action == "list":
        if json:
            return json_output.write_object(models=lines)
        write(model_list.listed(lines))
        return ExitCode.COMPLETE
    report = await _tried(lines, playbook)
    if json:
        json_output.write_object(trials=report.trials)
    else:
        write(map(model_list.tried, report.trials))
    is_well = all(trial.error is None and trial.calls_tools for trial in report.trials)
    return ExitCode.COMPLETE if is_well else ExitCode.FAILED


def _configured(repo: Path, config: Path | None, playbook: Path | None) -> "tuple[ModelLine, ...]":
    from starter.configuration.effective_configuration import load_configuration
    from starter.configuration.layers import Sources
    from starter.machine.model_list import model_lines
    from starter.machine.own_settings import settings_as_they_are
    from workers.own_file import user_file

    here = repo.absolute()
    root = next((path for path in (here, *here.parents) if (path / ".git").exists()), None)
    sources = Sources(
        user=user_file(),
        repository=root,
        config=config,
        playbook=playbook is not None,
        providers=settings_as_they_are().providers,
    )
    configuration = load_configuration(sources, os.environ)
    return model_lines(configuration, os.environ, datetime.now(UTC))


async def _tried(lines: "tuple[ModelLine, ...]", playbook: Path | None) -> "TrialReport":
    from starter.machine.helper_processes import ask
    from starter.machine.own_settings import read_settings, with_own_providers
    from workers.model_trial import TrialOrder, TrialReport, TrialRequest

    settings = with_own_providers(read_settings())
    if playbook is not None:
        path = playbook.absolute()  # noqa: ASYNC240 (no disk is looked at)
        settings = settings.evolve(playbook=path)
    orders = tuple(TrialOrder(facts=line.facts, role=line.roles[0]) for line in lines)
    return await ask("workers.model_trial", settings, TrialRequest(orders=orders), TrialReport)
