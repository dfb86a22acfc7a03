"""The command line: which commands there are, in which order and groups.

Importing it loads neither Temporal nor an SDK, so `--help` and a wrong argument answer at once.
"""

import sys
from collections.abc import Sequence
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from starter.commands.deciding import (
    approve_and_reject,
    fast_forward_command,
    plan_command,
    rewind_and_revert,
    run,
    steering,
)
from starter.commands.operating import (
    backups,
    cleanup,
    codec,
    doctor,
    init_and_config,
    models_command,
    notify_command,
    queue_command,
    schedule_command,
    simulate,
    up,
)
from starter.commands.viewing import health, inspection, log, replay, reporting
from starter.console.command_errors import CommandError
from starter.console.nested_session import outside_only
from starter.console.program_name import NAME
from starter.console.terminal import fail
from starter.demo import demo_command

_COMPLETION: Final = frozenset({"--install-completion", "--show-completion"})


class _Commands(TyperGroup):
    """All commands; with `--json` even a wrong argument is answered with a document."""

    def main(self, args: Sequence[str] | None = None, *rest: Any, **more: Any) -> object:
        """Run the command that the arguments name; see typer."""
        arguments = list(sys.argv[1:] if args is None else args)
        if not _COMPLETION.isdisjoint(arguments):
            # A shell completes a command by its name, however the program was started.
            more["prog_name"] = NAME
        if "--json" not in arguments:
            return super().main(arguments, *rest, **more)
        try:
            code = super().main(arguments, *rest, **{**more, "standalone_mode": False})
        except typer.TyperException as error:
            fail(CommandError(error.format_message()), json=True)
        # The remaining exits belong to no command: `--help` with `--json`.
        raise SystemExit(code or 0)


app = typer.Typer(
    cls=_Commands,
    name=NAME,
    help="From a goal to reviewed, merged work: coding agents as durable Temporal workflows.",
    epilog="Exit codes: 0 complete, 1 failed, 2 invalid input, 3 waits for you, 4 stopped, "
    "5 unavailable, 6 not possible now, 7 inside a session, 130 detached.",
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _say_version(value: bool) -> None:  # noqa: FBT001 (typer calls it so)
    if not value:
        return
    from importlib.metadata import PackageNotFoundError, version

    try:
        typer.echo(f"{NAME} {version(NAME)}")
    except PackageNotFoundError:
        typer.echo(f"{NAME} of a folder that is not installed; its pyproject.toml says which")
    raise typer.Exit


@app.callback()
def _options(
    *,
    _version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", is_eager=True, callback=_say_version),
    ] = False,
) -> None:
    pass


_GROUPS = (
    (demo_command.demo, doctor.doctor, init_and_config.init, models_command.models, up.up, run.run),
    (
        inspection.ls,
        health.health,
        inspection.status,
        inspection.watch,
        inspection.task,
        inspection.diff,
        log.log,
        inspection.trace,
        reporting.history,
        reporting.report,
        reporting.export,
        replay.replay,
        plan_command.plan,
    ),
    (approve_and_reject.approve, approve_and_reject.reject, fast_forward_command.fast_forward),
    (
        steering.skip,
        steering.retry,
        rewind_and_revert.rewind,
        rewind_and_revert.revert,
        steering.steer,
        steering.answer,
        steering.priority,
    ),
    (steering.budget, steering.rework, queue_command.requeue),
    (steering.proceed, steering.pause, steering.resume, steering.stop),
    (
        cleanup.cleanup,
        backups.backup,
        backups.restore,
        codec.codec,
        notify_command.notify,
        simulate.simulate,
    ),
)
_ACTING = {
    demo_command.demo,
    up.up,
    run.run,
    *_GROUPS[2],
    *_GROUPS[3],
    *_GROUPS[4],
    *_GROUPS[5],
    cleanup.cleanup,
    backups.backup,
    backups.restore,
}
"""`plan`, `models`, `notify` and `replay` act only with some options, and check that themselves."""
for _group in _GROUPS:
    for _command in _group:
        app.command()(outside_only(_command) if _command in _ACTING else _command)
app.add_typer(init_and_config.config, name="config")
app.add_typer(schedule_command.schedule, name="schedule")
app.add_typer(queue_command.queue, name="queue")
