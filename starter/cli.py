"""The command line: which commands there are, in which order and groups.

Importing it loads neither Temporal nor an SDK: `--help` and a wrong argument answer at once.
"""

import typer

from starter.commands import check, config, decide, demo, look, simulate, start, steer

app = typer.Typer(
    name="blueflame",
    help="A goal in, reviewed and merged work out: coding agents as durable Temporal workflows.",
    epilog="Exit codes: 0 complete, 1 failed, 2 usage, 3 waits for a person, 4 stopped, "
    "5 unavailable, 6 stale, 130 detached.",
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

_GROUPS = (
    (demo.demo, check.doctor, config.init, start.up, start.run),
    (look.ls, look.status, look.watch, look.diff),
    (decide.approve, decide.reject),
    (steer.skip, steer.retry, steer.steer, steer.priority),
    (steer.budget, steer.proceed, steer.pause, steer.resume, steer.stop),
    (simulate.simulate,),
)
for _group in _GROUPS:
    for _command in _group:
        app.command()(_command)
app.add_typer(config.config, name="config")
