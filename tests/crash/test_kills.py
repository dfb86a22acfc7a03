"""Kill server and workers at random points: nothing is lost, repeated, or paid for twice."""

from pathlib import Path

import pytest

from activities.adapters.models.scripted.playbook import Playbook
from tests.crash import kills, play
from tests.crash.stage import stage
from tests.waiting import LONG_PATIENCE, ends
from workers.roles import Role
from workflows.domain.session.session_config import Approvals
from workflows.domain.session.session_modes import Pacing

SMALL = play.playbook({"left": (), "top": ("left",)}, turns=2)


async def _undisturbed_and_disturbed(
    folder: Path, played: Playbook, count: int, seed: int, pacing: Pacing
) -> kills.Judged:
    async with stage(folder, played) as running:
        calm = await kills.run(running, "calm", pacing=pacing)
        points = kills.points(calm, count, seed)
        course = await kills.run(running, "disturbed", kills.striking(points), pacing=pacing)
    assert calm.outcome == "complete"
    assert len(calm.asks) == len(set(calm.asks))
    assert len(course.kills) == count
    return kills.judge(calm, course)


@pytest.mark.e2e
@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_three_kills_leave_the_session_as_it_would_have_been(tmp_path: Path):
    """Field report R40."""
    found = await _undisturbed_and_disturbed(tmp_path, SMALL, 3, 1, Pacing.FLOW)
    assert found == kills.Judged()


@pytest.mark.crash
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("pacing", list(Pacing))
async def test_twenty_kills_leave_the_session_as_it_would_have_been(tmp_path: Path, pacing: Pacing):
    found = await _undisturbed_and_disturbed(tmp_path, play.playbook(), 20, 2, pacing)
    assert found == kills.Judged()


HOST_POINTS = (
    *("after-arrival", "after-import", "after-run", "after-commit", "after-update-ref"),
    *("after-merge", "after-advance"),
)
LAND_POINTS = ("after-send", "after-land")


@pytest.mark.crash
@pytest.mark.timeout(1800)
async def test_a_death_at_a_fail_point_loses_and_repeats_nothing(tmp_path: Path):
    """Field report R40."""
    async with stage(tmp_path, SMALL) as running:
        calm = await kills.run(running, "calm")
        for role, names in ((Role.HOST, HOST_POINTS), (Role.LAND, LAND_POINTS)):
            for point in names:
                await running.restart(role, BLUEFLAME_FAIL_POINT=point)
                course = await kills.run(running, point, kills.dying(role))
                assert kills.judge(calm, course) == kills.Judged(), point


@pytest.mark.crash
@pytest.mark.timeout(900)
async def test_a_power_cut_while_the_plan_waits_costs_nothing(tmp_path: Path):
    """Field report R40."""
    ask = Approvals(plan="ask", changeset="auto_if_green")
    async with stage(tmp_path, SMALL) as running:
        calm = await kills.run(running, "calm")
        course = await kills.run(running, "cut", kills.cut_while_the_plan_waits, approvals=ask)
    assert kills.judge(calm, course) == kills.Judged()
    assert course.asks == calm.asks


@pytest.mark.e2e
@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_a_death_after_the_fast_forward_moves_the_branch_once(tmp_path: Path):
    """A bare repository: no checkout shows the branch that the session starts from."""
    async with stage(tmp_path, play.playbook({"left": ()}, turns=1)) as running:
        origin = play.make_repository(tmp_path / "origin")
        bare = tmp_path / "bare.git"
        play.git(tmp_path, "clone", "-q", "--bare", str(origin), str(bare))
        play.git(bare, "config", "core.logAllRefUpdates", "always")
        await running.restart(Role.LAND, BLUEFLAME_FAIL_POINT="after-forward")
        handle = await play.start(running.client, bare, deliver="fast_forward")
        await running.actors[Role.LAND].died()
        await running.restart(Role.LAND)
        result = await ends(handle.result(), "the session ends", LONG_PATIENCE)
    assert result.outcome == "complete"
    assert "branch 'main' was fast-forwarded" in result.reason
    tips = [play.git(bare, "rev-parse", each) for each in ("main", str(result.branch))]
    assert tips == [result.head, result.head]
    moves = play.git(bare, "reflog", "--format=%gs", "main").splitlines()
    assert moves.count("blueflame: fast-forward") == 1
