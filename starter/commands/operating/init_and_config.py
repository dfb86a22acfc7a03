"""Commands of the configuration: `init`, and `config show`, `check`, `schema` and `migrate`."""

import os
import shlex
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from starter.console.command_errors import CommandError
from starter.console.exit_codes import ExitCode
from starter.console.program_name import program
from starter.console.terminal import command, shown, write
from starter.input.session_options import JsonOption
from starter.input.session_request import RunOptions, sources

if TYPE_CHECKING:
    from starter.configuration.initial_configuration import Findings
    from starter.configuration.layers import Layer

config = typer.Typer(
    help="Show, check and migrate the configuration.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
RepoOption = Annotated[Path, typer.Option(help="The repository, or a folder in it.")]
FileArgument = Annotated[
    Path | None,
    typer.Argument(
        metavar="[FILE]", help="File to check. Default: your own file and the repository's."
    ),
]


@command
async def init(
    *,
    repo: RepoOption = Path(),
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the file without writing it.")
    ] = False,
) -> ExitCode:
    """Write a blueflame.yaml with models and detected gates."""
    from starter.commands.operating import file_writing
    from starter.configuration import initial_configuration
    from starter.machine import repository_look
    from starter.machine.own_environment.own_lines import own_lines
    from workers.own_file import FILE_NAME

    repository = await repository_look.examine(repo.absolute(), None)
    if repository.is_bare:
        raise CommandError(
            f"repository {str(repository.root)!r} has no checkout to write into; run `init` in a "
            "clone of it"
        )
    path = repository.root / FILE_NAME
    if os.path.lexists(path) and not (force or dry_run):  # noqa: ASYNC240 (one stat)
        raise CommandError(
            f"{str(path)!r} is there already; `config check` judges it, --force replaces it"
        )
    proposal = await repository_look.proposal(repository)
    findings = initial_configuration.find(
        proposal, os.environ, has_own_models=_has_own_models(), own_line=own_lines(proposal)
    )
    text = initial_configuration.text(findings)
    if dry_run:
        sys.stdout.write(text)
        _note(_found(findings))
        return ExitCode.COMPLETE
    file_writing.replace(path, text) if force else file_writing.create(path, text)
    write((*_found(findings), f"Written   {shown(str(path))}", *_next(repository.root)))
    return ExitCode.COMPLETE


@config.command()
@command
async def show(  # noqa: PLR0913 (the options of `run` that say settings)
    *,
    repo: RepoOption = Path(),
    config: Annotated[
        Path | None,
        typer.Option(help="Configuration file. Default: the repository's blueflame.yaml."),
    ] = None,
    pacing: Annotated[Literal["wave", "flow"] | None, typer.Option(help="As in `run`.")] = None,
    auto_approve: Annotated[bool, typer.Option("--auto-approve", help="As in `run`.")] = False,
    budget: Annotated[str | None, typer.Option(metavar="USD", help="As in `run`.")] = None,
    decisions: Annotated[Path | None, typer.Option(help="As in `run`.")] = None,
    playbook: Annotated[Path | None, typer.Option(help="As in `run`.")] = None,
    origin: Annotated[
        bool, typer.Option("--origin", help="Show where each value comes from.")
    ] = False,
    json: JsonOption = False,
) -> ExitCode:
    """Print the configuration that a session here would use."""
    from starter.configuration import shown_configuration
    from starter.console import json_output

    options = RunOptions(
        repo=repo,
        config=config,
        pacing=pacing,
        auto_approve=auto_approve,
        playbook=playbook,
        budget=budget,
        decisions=decisions,
    )
    found = shown_configuration.shown_configuration(await _layers(options), os.environ)
    if json:
        return json_output.write(found)
    write(map(shown, shown_configuration.lines(found, with_origins=origin)))
    return ExitCode.COMPLETE


@config.command()
@command
async def check(file: FileArgument = None, *, repo: RepoOption = Path()) -> ExitCode:
    """Check FILE, or the configuration that applies here."""
    from starter.configuration import effective_configuration

    layers = await _layers(RunOptions(repo=repo)) if file is None else await _layers_of(file)
    settled = effective_configuration.settle(layers, os.environ)
    await _check_copies(repo if file is None else file, settled.values)
    if not layers:
        write(["no configuration file is here; the defaults hold (`config show`)"])
    for layer in layers:
        keys = len(layer.values)
        write([shown(f"ok: {layer.origin.source}, {keys} {'key' if keys == 1 else 'keys'}")])
    return ExitCode.COMPLETE


@config.command()
@command
async def schema() -> ExitCode:
    """Print the JSON Schema of blueflame.yaml."""
    from starter.configuration import json_schema

    sys.stdout.write(json_schema.text())
    return ExitCode.COMPLETE


@config.command()
@command
async def migrate(
    file: Annotated[Path, typer.Argument(metavar="[FILE]", help="File to convert.")] = Path(
        "blueflame.yaml"
    ),
    *,
    in_place: Annotated[
        bool, typer.Option("--write", help="Write the result back to the file.")
    ] = False,
) -> ExitCode:
    """Convert FILE to the current format, and print it."""
    from starter.commands.operating.file_writing import replace
    from starter.configuration.file_shape import VERSION
    from starter.configuration.layers import read_text
    from starter.configuration.migration import migrate

    done = migrate(read_text(file, str(file)), str(file))
    if done.before == VERSION:
        _note([f"{file} is of version {VERSION}: nothing to do"])
    if not in_place:
        sys.stdout.write(done.text)
    elif done.before != VERSION:
        replace(file, done.text)
        write([f"{file} is of version {VERSION} now; see `{program()} config check {file}`"])
    return ExitCode.COMPLETE


# --- init -----------------------------------------------------------------------------------------


def _has_own_models() -> bool:
    from starter.configuration.layers import Sources, read_layers
    from workers.own_file import user_file

    layers = read_layers(Sources(user=user_file()))
    return any(key.startswith("models.") for layer in layers for key in layer.values)


def _found(findings: "Findings") -> list[str]:
    from activities.projects.proposal import as_typed
    from starter.machine.repository_checks import absence
    from workers.local.sandbox_programs import find_in_sandbox

    lines = [f"Set-up    {each}" for each in findings.proposal.setup]
    lines += [f"Gate      {gate.name}: {as_typed(gate.argv)}" for gate in findings.gates]
    for name in sorted({gate.argv[0] for gate in findings.gates if "/" not in gate.argv[0]}):
        place = find_in_sandbox(name)
        lines.append(f"Program   {name}: {absence(name) if place is None else place}")
    if not findings.gates:
        lines.append("Gate      none found")
    own = [f"Your own  {line}" for line in findings.own_line.splitlines()]
    return [shown(line) for line in (*lines, *own, _models(findings))]


def _models(findings: "Findings") -> str:
    if findings.has_own_models:
        return "Models    as your own configuration names them"
    keys = f"the keys of {', '.join(findings.providers)}" if findings.providers else "no key"
    enough = "" if findings.routes else "; one is needed, see `doctor`"
    return f"Models    by {keys}{enough}"


def _next(root: Path) -> list[str]:
    here, path = Path.cwd(), shlex.quote(shown(str(root)))
    at = "" if here.is_relative_to(root) else f" --repo {path}"
    git = "git" if here == root else f"git -C {path}"
    return [
        f"Next      {program()} config check{at}",
        f"          {git} add blueflame.yaml, and commit it: agents cannot change it",
        f'          {program()} run{at} "what you want"',
    ]


# --- config ---------------------------------------------------------------------------------------


async def _layers(options: RunOptions) -> "tuple[Layer, ...]":
    from starter.configuration.layers import read_layers
    from starter.machine import repository_look
    from starter.machine.own_settings import settings_as_they_are

    root = await repository_look.find_root(options.repo)
    if root is None and options.repo != Path():
        raise CommandError(f"{str(options.repo)!r} is not in a git repository; --repo names one")
    return read_layers(sources(options, root, settings_as_they_are()))


async def _layers_of(file: Path) -> "tuple[Layer, ...]":
    """Read one file as what it is: the repository's own, or one that a person names."""
    from starter.configuration.layers import read_layer
    from starter.machine import repository_look
    from starter.machine.own_settings import settings_as_they_are, with_own_providers
    from workers.own_file import FILE_NAME

    if file.name == FILE_NAME and file.is_file():  # noqa: ASYNC240 (one stat)
        root = await repository_look.find_root(file.parent)
        own = None if root is None else root / FILE_NAME
        if own is not None and own.exists() and file.samefile(own):  # noqa: ASYNC240 (two)
            return await _layers(RunOptions(repo=own.parent))
    known = with_own_providers(settings_as_they_are()).providers
    return (read_layer(file, "config", known),)


async def _check_copies(place: Path, values: Mapping[str, object]) -> None:
    """Look, in the repository that a configuration is of, for what it lets worktrees copy.

    Args:
        place: a folder in it, or its own file; another file is of no repository.
        values: the configuration's.
    """
    from starter.machine import repository_look
    from workers.own_file import FILE_NAME
    from workflows.domain.session.session_config import WorktreeConfig

    if place.name == FILE_NAME:
        place = place.parent
    named = {name: values[f"worktree.{name}"] for name in ("copy", "allow_secret")}
    if not named["copy"] or not place.is_dir():
        return
    root = await repository_look.find_root(place)
    if root is not None:
        await repository_look.check_copies(root, WorktreeConfig.model_validate(named))


def _note(lines: Iterable[str]) -> None:
    """Write lines for people beside an output that a program may read."""
    sys.stderr.write("".join(f"{shown(line)}\n" for line in lines))
