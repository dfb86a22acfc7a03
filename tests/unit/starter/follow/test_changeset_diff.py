"""The diff that a person reads before they approve."""

from pathlib import Path

import pytest

from activities.adapters.blob_store import LocalStore
from starter.console.command_errors import CommandError
from starter.console.exit_codes import ExitCode
from starter.follow.changeset_diff import diffs_of, lines, show
from starter.views import safety_labels
from tests.unit.starter.shown import session
from workers.settings import Settings
from workflows.domain.ids import ChangesetId, Digest, SessionId, TaskId
from workflows.domain.plan import Task
from workflows.domain.session.query_answers import ChangesetLine
from workflows.domain.task import TaskRecord

SESSION = SessionId("s")


class Records:
    """Answers for tasks as a session would."""

    def __init__(self, diffs: dict[str, Digest | None]) -> None:
        self._diffs = diffs

    async def task(self, session: SessionId, task: str) -> TaskRecord | None:
        if task not in self._diffs:
            return None
        facts = Task.model_validate(
            {"id": task, "title": task, "acceptance_criteria": ["c"], "claims": ["a"]}
        )
        return TaskRecord(task=facts, diff=self._diffs[task])


def changeset(*tasks: str) -> ChangesetLine:
    return ChangesetLine(
        id=ChangesetId("g"),
        state="awaiting_approval",
        digest=None,
        tasks=tuple(TaskId(task) for task in tasks),
    )


async def test_the_diffs_of_all_tasks_are_shown_whole(tmp_path: Path):
    settings = Settings(data_dir=tmp_path)
    settings.store_dir.mkdir()
    store = LocalStore(settings.store_dir)
    kept = {"a": await store.put(b"+one\n"), "b": await store.put("+zwei ü\n".encode()), "c": None}
    shown = await diffs_of(Records(kept), SESSION, changeset("a", "b", "c"), settings)  # pyright: ignore[reportArgumentType] (a stand-in)
    assert shown == {"a": "+one\n", "b": "+zwei ü\n"}


@pytest.mark.parametrize(
    ("kept", "said", "code"),
    [
        ({"a": Digest("0" * 64)}, "not in the store", ExitCode.UNAVAILABLE),
        ({"a": None}, "no validated work", ExitCode.STALE),
        ({}, "no worker answers", ExitCode.UNAVAILABLE),
    ],
)
async def test_a_diff_that_cannot_be_shown_is_reported(
    tmp_path: Path, kept: dict[str, Digest | None], said: str, code: ExitCode
):
    settings = Settings(data_dir=tmp_path)
    settings.store_dir.mkdir()
    with pytest.raises(CommandError, match=said) as told:
        await diffs_of(Records(kept), SESSION, changeset("a"), settings)  # pyright: ignore[reportArgumentType] (a stand-in)
    assert told.value.code is code


def test_a_terminal_gets_each_line_escaped() -> None:
    found = {"a": "+one\n+\x1b[2J\n", "b": " two"}
    assert lines(found) == ["+one", "+\\x1b[2J", " two"]


def test_a_pipe_gets_the_bytes_alone_and_the_marks_stand_beside(
    capsys: pytest.CaptureFixture[str],
):
    bare = session(sandbox="none", scripted=True)
    unjudged = changeset("a").model_copy(update={"not_judged": "no gates"})
    show(bare, unjudged, {"a": "+one\n", "b": "+\x1b[2J\n"})
    out, err = capsys.readouterr()
    assert out == "+one\n+\x1b[2J\n"
    assert err.splitlines() == [*safety_labels.of(bare), "Gates      not judged: no gates"]
