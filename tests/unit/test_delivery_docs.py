"""The transcripts in docs/delivery.md are what the commands print."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from activities.adapters.git.loose_objects import with_trailers
from activities.ports.user_repository import FastForwardRequest, Landed, Refused
from starter.follow import fast_forward_offer
from starter.machine.machine_checks import line
from starter.machine.repository_checks import repository_checks
from starter.views import session_words
from tests.documented import unshown
from tests.e2e.processes import repository
from tests.unit.activities.adapters.git.home import Home, plain_git, write
from tests.unit.starter.shown import pull, session
from workers.settings import Settings
from workflows.domain.plan import TaskKind
from workflows.policy.delivery.commit_convention import convention_of, subject
from workflows.policy.delivery.commit_message import task_message

SESSION = "01m8m5mnc15rs77k2y75tdzq3m"


def stands(text: str) -> bool:
    """Whether transcripts have these lines."""
    return unshown("delivery", text) == []


async def test_the_fast_forward_and_what_is_said_where_none_is_made(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.make({"a.txt": "one\n"})
    write(await home.start(), {"a.txt": "two\n"})
    commit = await home.commit_work()
    assert isinstance(await home.land(commit), Landed)
    unasked = FastForwardRequest(
        path=home.path, branch="main", old=home.base, new=commit, moves_checkout=False
    )
    refused = await home.user.fast_forward(unasked)
    assert isinstance(refused, Refused)
    assert stands(refused.text)
    plain_git(home.path, "branch", "-m", "blueflame/s1", f"blueflame/{SESSION}")
    way = await fast_forward_offer.find_way(home.path, SESSION, None)
    said = await fast_forward_offer.go(way, {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)})
    assert stands("\n".join(said))


def test_a_commits_message() -> None:
    convention = convention_of([f"feat(cart): add item {number}" for number in range(9)])
    first = subject(convention, "Add a currency", TaskKind.CODE, ["cart/price.py"], "")
    message = task_message(first, "Prices had no currency.", ["`price('EUR')` gives cents"])
    trailers = (
        ("Blueflame-Session", SESSION),
        ("Blueflame-Task", "currency"),
        ("Blueflame-Attempt", "1"),
    )
    assert stands(with_trailers(message, trailers))


def test_a_pull_request_in_the_status() -> None:
    shown = session(pulls=(pull(12, asked=2),), started_at=datetime(2026, 11, 30, tzinfo=UTC))
    status = "\n".join(session_words.status(shown, "blueflame"))
    part = status[status.index("Pull requests") :]
    assert stands(part.partition("\n\n")[0])


async def test_the_check_of_doctor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = repository(tmp_path / "r", {"a.txt": "a\n"})
    plain_git(repo, "remote", "add", "origin", "git@github.com:acme/shop.git")
    own = tmp_path / "own" / "blueflame"
    own.mkdir(parents=True)
    hosting = "deliver: pull_request\nhosting: {github.com: {repositories: [acme/*]}}\n"
    (own / "blueflame.yaml").write_text(f"version: 1\n{hosting}")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "own"))
    keys = {"ANTHROPIC_API_KEY": "a", "GITHUB_TOKEN": "t0ken", "PATH": ""}
    checks = await repository_checks(repo, keys, Settings(data_dir=tmp_path / "data"))
    assert stands(line(next(each for each in checks if each.name == "hosting")))


def test_what_rework_prints() -> None:
    assert stands("\n".join(session_words.told("rework pull request session", SESSION)))
