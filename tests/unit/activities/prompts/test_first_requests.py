"""What each role's model is sent first, word for word, and that later turns only add to it."""

from pathlib import Path

import pytest

from benchmarks.captured import MODELS, Captured, is_prefix_stable, opening_of, rendered
from benchmarks.prompt import data_bytes
from workflows.domain.agent.model_values import Provider, Role
from workflows.policy.agent.turn_decisions import FIXED_BYTES

SNAPSHOTS = Path(__file__).parent / "first_requests"


async def sent(provider: Provider, role: Role, turns: int) -> list[bytes]:
    seen = Captured(provider)
    await seen.talk(role, turns)
    return seen.bodies


@pytest.mark.parametrize("role", list(Role))
@pytest.mark.parametrize("provider", MODELS)
async def test_the_first_request_is_the_one_that_was_reviewed(provider: Provider, role: Role):
    (body,) = await sent(provider, role, 1)
    reviewed = (SNAPSHOTS / f"{provider}-{role}.txt").read_text("utf-8")
    assert rendered(body) == reviewed, "run `scripts/prompts`, and look at what changed"
    assert len(body) - data_bytes(opening_of(role)) <= FIXED_BYTES


def test_every_snapshot_belongs_to_a_request():
    names = {f"{provider}-{role}.txt" for provider in MODELS for role in Role}
    assert {path.name for path in SNAPSHOTS.iterdir()} == names


@pytest.mark.parametrize("provider", MODELS)
async def test_every_request_begins_with_the_one_before(provider: Provider):
    bodies = await sent(provider, Role.DEVELOPER, 4)
    assert len(bodies) == 4
    assert is_prefix_stable(provider, bodies)
    assert not is_prefix_stable(provider, [*bodies, bodies[0]])
    assert not is_prefix_stable(provider, [bodies[0], bodies[1].replace(b"sandbox", b"Sandbox")])
