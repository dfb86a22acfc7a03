"""A real bash as the witness: what it runs as `git push`, however it is written, is denied.

Only harmless programs are in its reach, its processor time is bounded, and the first push ends it.
"""

import contextlib
import os
import select
import shlex
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from activities.adapters.shell.bash_parser import parse
from tests.unit.activities.adapters.shell.disguises import (
    EDITS,
    TEXT_WRAPS,
    edited,
    hidden,
    pushing,
    tokens,
)
from tests.unit.policy.commands.command_table import DENIED
from tests.waiting import PATIENCE
from workflows.domain.agent.model_values import Role
from workflows.domain.agent.tool_policy import Standing
from workflows.policy.commands.judgement import command_denial

pytestmark = pytest.mark.fuzz

DEVELOPER = Standing(role=Role.DEVELOPER, claims=("**",))
shared_stage = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)

PROGRAMS = (
    "bash", "cat", "env", "false", "nice", "nohup", "setsid", "sh", "sleep", "stdbuf", "timeout",
    "true", "xargs",
)  # fmt: skip
_GIT = """#!/bin/sh
while [ "$1" = -c ] || [ "$1" = -C ]; do shift 2; done
[ "$1" = push ] || exit 0
echo pushed > "$WITNESS"
kill -KILL 0
"""
_BOUNDED = 'ulimit -t 2 -f 1024; exec bash -c "$1"'
_SECONDS = 10
"""Of each text that no one wrote: one that waits for something is cut."""


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of programs in which `git` only notes that it was to push."""
    folder = tmp_path_factory.mktemp("stage") / "bin"
    folder.mkdir()
    for name in PROGRAMS:
        found = shutil.which(name)
        assert found is not None, name
        (folder / name).symlink_to(found)
    (folder / "git").write_text(_GIT)
    (folder / "git").chmod(0o755)
    return folder


def pushes(stage: Path, command: str, seconds: float = _SECONDS) -> bool:
    """Run a command, and tell whether it started `git push` within that time."""
    witness = stage.parent / "witness"
    witness.unlink(missing_ok=True)
    still_open, inherited = os.pipe()
    with (stage.parent / "out").open("wb") as nowhere:
        process = subprocess.Popen(
            ["bash", "-c", _BOUNDED, "bash", command],
            cwd=stage.parent,
            env={"PATH": str(stage), "WITNESS": str(witness), "LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            stdout=nowhere,
            stderr=nowhere,
            start_new_session=True,
            pass_fds=(inherited,),
        )
    os.close(inherited)
    # Readable, that is at its end, once bash and all that it left in the background are over.
    select.select([still_open], [], [], seconds)
    os.close(still_open)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return witness.exists()


def never_pushes_unseen(stage: Path, command: str) -> None:
    if command_denial(command, DEVELOPER, parse) is None:
        assert not pushes(stage, command), shlex.quote(command)


@pytest.mark.parametrize("wrap", [name for name in TEXT_WRAPS if name not in {"find", "xargs sh"}])
def test_the_witness_sees_each_wrapping(stage: Path, wrap: str):
    assert pushes(stage, TEXT_WRAPS[wrap]("git push"), PATIENCE)


@shared_stage
@given(pushing, st.lists(st.sampled_from(sorted(TEXT_WRAPS)), max_size=2))
def test_a_push_in_disguise(stage: Path, command: str, wraps: list[str]):
    for wrap in wraps:
        command = TEXT_WRAPS[wrap](command)
    never_pushes_unseen(stage, command)


@shared_stage
@given(hidden())
def test_a_push_inside_another_command(stage: Path, command: str):
    never_pushes_unseen(stage, command)


@shared_stage
@given(
    hidden() | st.sampled_from(sorted(TEXT_WRAPS)).map(lambda n: TEXT_WRAPS[n]("git push")), EDITS
)
def test_a_push_inside_another_command_with_letters_changed(
    stage: Path, command: str, edits: list[tuple[int, str]]
):
    never_pushes_unseen(stage, edited(command, edits))


RUNNABLE = tuple(
    command
    for command, _ in DENIED
    if "push" in command and not any(word in command for word in ("/tmp", "/usr", "/bin", "find "))
)
"""Those of the corpus that do nothing else on the stage."""


@shared_stage
@given(st.sampled_from(RUNNABLE), EDITS)
def test_a_denied_command_with_letters_changed(
    stage: Path, command: str, edits: list[tuple[int, str]]
):
    never_pushes_unseen(stage, edited(command, edits))


@shared_stage
@given(tokens, st.sampled_from(["git push", "git", "$'\\x67'it p\\ush", "git \\\n"]), tokens)
def test_a_push_in_a_heap_of_tokens(stage: Path, before: str, git: str, after: str):
    """Without `bash git`, which runs our `git` because it is a script."""
    never_pushes_unseen(stage, f"{before} {git} {after}".replace("bash", ""))
