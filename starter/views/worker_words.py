"""Texts about server and workers: where they are, which process keeps them, how to keep them.

Pure: values in, lines out; the fixed text is ASCII.
"""

import shlex
from pathlib import Path
from typing import Final

from starter.console.terminal import shown
from starter.views.safety_labels import NO_SANDBOX

WORKERS_START: Final = ("Workers    are starting",)
WORKERS_READY: Final = ("workers are ready; Ctrl-C ends them",)


def detached(
    session: str, program: str, playbook: Path | None = None, *, goes_on: bool
) -> list[str]:
    """Return the message when a person leaves a session with Ctrl-C."""
    if goes_on:
        first = f"detached; session {session} goes on"
    else:
        again = _up_again(program, playbook)
        first = f"detached; session {session} is idle until workers run again: {again}"
    return [first, f"find it again with `{program} watch {session}`"]


def rests(program: str, playbook: Path | None) -> list[str]:
    """Return the message when a command that kept the workers ends before its session."""
    again = _up_again(program, playbook)
    return [f"the workers end with this command; start {again} before you answer"]


def _up_again(program: str, playbook: Path | None) -> str:
    played = "" if playbook is None else f" --playbook {shlex.quote(str(playbook))}"
    return f"`{program} up --detach{played}`"


def workers_marks(playbook: Path | None, sandbox: str) -> list[str]:
    """Return labels of workers that must not be overlooked: a scripted model, no sandbox.

    Args:
        playbook: the playbook of their scripted model; None: none.
        sandbox: `none` if they do not confine commands.
    """
    models = [] if playbook is None else [f"Models     SCRIPTED: {shown(str(playbook))} is played"]
    return [*models, f"Sandbox    {NO_SANDBOX}"] if sandbox == "none" else models


def serving(address: str, ui: str) -> list[str]:
    """Return the address of the bundled server."""
    return [f"Temporal   {address}", f"Web UI     {ui}"]
