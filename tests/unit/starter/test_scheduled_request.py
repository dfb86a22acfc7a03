"""What a schedule starts when it fires, and why it starts nothing."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from temporalio.exceptions import ApplicationError

from activities.land.scheduled_sessions import ScheduleActivities
from starter.scheduled_request import options_of
from tests.e2e.processes import CONFIGURATION, ROOT, environment, repository
from workers.hosting.starter_processes import NO_ANSWER, make_session
from workers.settings import Settings
from workflows.domain.session.scheduled_goal import ScheduledGoal
from workflows.errors import FailureType


def answered(tmp_path: Path, goal: ScheduledGoal) -> "subprocess.CompletedProcess[str]":
    """Ask as a worker of role `land` does; no server runs."""
    return subprocess.run(
        [sys.executable, "-P", "-m", "starter.scheduled_request"],
        input=goal.model_dump_json(),
        env=environment(Settings(data_dir=tmp_path / "data"), XDG_CONFIG_HOME=str(tmp_path)),
        cwd=ROOT,
        text=True,
        capture_output=True,
        check=False,
    )


@pytest.mark.slow
def test_what_a_person_must_correct_is_an_answer(tmp_path: Path) -> None:
    goal = ScheduledGoal(name="n", goal="x", repository=str(tmp_path / "gone"))
    ran = answered(tmp_path, goal)
    assert ran.returncode == 0, ran.stderr
    said = json.loads(ran.stdout)
    assert said["kind"] == "refused"
    assert "gone" in said["reason"]


@pytest.mark.parametrize("keys", [(), ("ANTHROPIC_API_KEY",)])
@pytest.mark.slow
def test_default_models_follow_from_the_names_of_the_keys(
    tmp_path: Path, keys: tuple[str, ...]
) -> None:
    goal = ScheduledGoal(
        name="n", goal="x", repository=str(repository(tmp_path / "r", {"a": "b"})), keys=keys
    )
    ran = answered(tmp_path, goal)
    if keys:  # it gets as far as the server, which may come back: the activity is tried again
        assert ran.returncode == NO_ANSWER
        assert "Temporal server was started here yet" in ran.stderr
    else:
        assert json.loads(ran.stdout)["kind"] == "refused"
        assert "models" in json.loads(ran.stdout)["reason"]


@pytest.mark.slow
async def test_a_server_that_does_not_answer_is_worth_another_try(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = repository(tmp_path / "r", {"a": "b"})
    goal = ScheduledGoal(name="n", goal="x", repository=str(repo), keys=("ANTHROPIC_API_KEY",))
    for name, value in environment(
        Settings(data_dir=tmp_path / "data"), XDG_CONFIG_HOME=str(tmp_path)
    ).items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ApplicationError, match="no Temporal server was started") as caught:
        await ScheduleActivities(make_session).make(goal)
    assert caught.value.type == FailureType.PROVIDER_UNAVAILABLE


def test_the_configuration_is_read_when_the_schedule_fires(tmp_path: Path) -> None:
    config = tmp_path / "c.yaml"
    config.write_text(CONFIGURATION + "nonsense: 1\n")
    repo = repository(tmp_path / "r", {"a": "b"})
    goal = ScheduledGoal(name="n", goal="x", repository=str(repo), config=str(config))
    said = json.loads(answered(tmp_path, goal).stdout)
    assert said["kind"] == "refused"
    assert "nonsense" in said["reason"]


def test_a_goal_is_never_read_from_the_standard_input() -> None:
    goal = ScheduledGoal(name="n", goal="-", repository="/r", budget="3", auto_approve=True)
    options = options_of(goal)
    assert options.goal != "-"
    assert (options.budget, options.auto_approve, options.config) == ("3", True, None)
