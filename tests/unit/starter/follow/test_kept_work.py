"""`starter.follow.kept_work`: merged work that was not delivered can be taken, as it is said."""

import shlex
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from starter.follow import kept_work
from starter.sessions.shown_session import Outcome, ShownSession
from tests.unit.starter.shown import session
from workflows.domain.session.notice import Notice, NoticeKind
from workflows.domain.session.session_modes import SessionPhase

NOW = datetime(2026, 11, 27, 12, 0, tzinfo=UTC)


def git(folder: Path, *arguments: str) -> str:
    person = ("-c", "user.name=someone", "-c", "user.email=someone@localhost")
    ran = subprocess.run(["git", *person, *arguments], cwd=folder, check=True, capture_output=True)
    return ran.stdout.decode().strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A person's repository, with a name that a shell would take apart."""
    folder = tmp_path / "my $hop"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    git(folder, "commit", "-q", "--allow-empty", "-m", "base")
    return folder


def undelivered(
    repository: Path, outcome: Outcome | None = "incomplete", kind: str = "delivery"
) -> ShownSession:
    notice = Notice(
        kind=NoticeKind(kind), subject="", text="it is elsewhere", first_at=NOW, last_at=NOW
    )
    phase = SessionPhase.ENDED if outcome else SessionPhase.RUNNING
    return session(
        repository=str(repository), outcome=outcome, phase=phase, live=False, notices=(notice,)
    )


def keep(host: Path, repository: Path, shown: ShownSession) -> str:
    """Put a commit where the host's own repository keeps what is merged; return its name."""
    bare = host / "repositories" / "abc.git"
    git(repository, "clone", "-q", "--bare", ".", str(bare))
    commit = git(bare, "commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "work")
    git(bare, "update-ref", f"refs/blueflame/{shown.session}/merged", commit)
    return commit


@pytest.mark.parametrize("packed", [False, True])
def test_the_command_that_is_said_brings_the_work(tmp_path: Path, repository: Path, packed: bool):
    """Field report R05."""
    shown = undelivered(repository)
    commit = keep(tmp_path, repository, shown)
    (tmp_path / "repositories" / "00.git").mkdir()
    if packed:
        git(tmp_path / "repositories" / "abc.git", "pack-refs", "--all")
    _, command = kept_work.lines(shown, tmp_path)
    subprocess.run(shlex.split(command), check=True, capture_output=True)
    assert git(repository, "rev-parse", f"blueflame-{shown.session}") == commit


def test_nothing_is_said_where_there_is_nothing_to_take(tmp_path: Path, repository: Path):
    assert kept_work.lines(undelivered(repository), tmp_path) == []
    keep(tmp_path, repository, undelivered(repository))
    assert kept_work.lines(undelivered(repository), tmp_path) != []
    for shown in (
        undelivered(repository, "complete"),
        undelivered(repository, None),
        undelivered(repository, kind="gate"),
    ):
        assert kept_work.lines(shown, tmp_path) == []
