"""All sessions and workers at once: waits, parked calls, money and queues, and their gauges."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from decimal import Decimal

import pytest
from temporalio.exceptions import ApplicationError

from tests.fakes.world import World, planned
from tests.theatre import ASK, Playing, Theatre
from tests.waiting import until
from workers.telemetry.fleet import Fleet, OpenSession, read_fleet
from workers.telemetry.fleet_findings import parked_calls, waits_for_person
from workers.telemetry.fleet_metrics import FleetGauges
from workflows.contracts.model_contracts import ModelOutcome
from workflows.domain.agent.model_values import Role
from workflows.errors import FailureType
from workflows.policy.money.grants import BURN_WINDOW

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def slow_down() -> ModelOutcome | None:
    raise ApplicationError(
        "slow down",
        "scripted/alpha",
        type=FailureType.RATE_LIMITED,
        next_retry_delay=timedelta(hours=1),
    )


def parked(usd: str) -> World:
    """A world in which the plan costs money, and the developer's calls wait for their provider."""
    world = World(planned({"id": "a"}, {"id": "b"}), Decimal(usd))
    world.on_call = lambda call: slow_down() if call.role is Role.DEVELOPER else None
    return world


def of(fleet: Fleet, session: Playing) -> OpenSession:
    """Return one session of a fleet."""
    name = session.handle.id.removeprefix("session/")
    return next(each for each in fleet.sessions if each.session == name)


class Gauges:
    """Keeps the last value of each gauge, by its name and the values of its labels."""

    def __init__(self) -> None:
        self.last: dict[tuple[str, ...], float] = {}

    def __call__(self, metric: str, value: float = 1.0, **labels: str) -> None:
        self.last[(metric, *map(str, labels.values()))] = value

    def show(self, metric: str, rows: Sequence[tuple[float, Mapping[str, str]]]) -> None:
        for key in [key for key in self.last if key[0] == metric]:
            del self.last[key]
        for value, labels in rows:
            self(metric, value, **labels)


@pytest.mark.slow
async def test_a_look_sees_who_waits_for_whom_and_what_it_costs(theatre: Theatre) -> None:
    async with (
        theatre.session(World(planned({"id": "a"})), approvals=ASK) as asking,
        theatre.session(parked("0.25")) as waiting,
    ):
        await asking.until(lambda view: view.phase == "awaiting_plan")
        fleets: list[Fleet] = []

        async def are_parked() -> bool:
            fleets[:] = [await read_fleet(theatre.client)]
            return len(parked_calls([of(fleets[0], waiting)])) == 2

        await until(are_parked, "two calls wait for their provider", seen=lambda: fleets)
        fleet = fleets[0]
        (wait,) = waits_for_person(of(fleet, asking))
        assert wait == ("plan", "plan")
        held = of(fleet, waiting)
        assert waits_for_person(held) == []
        assert {each.failure for each in held.pending} == {"slow down"}
        assert {each.model for each in held.pending} == {"scripted/alpha"}
        assert all(each.again_at and each.again_at > fleet.at for each in held.pending)
        assert held.ledger is not None
        assert held.ledger.settled_usd == Decimal("0.25")
        assert held.ledger.burn_limit_usd_per_minute == 1
        by_name = {each.queue: each for each in fleet.queues}
        assert all(by_name[name].pollers for name in ("workflows", "models", "host", "land"))
        _are_set(Fleet(at=fleet.at, queues=fleet.queues, sessions=(held,)))
        later = Fleet(at=fleet.at + BURN_WINDOW, queues=(), sessions=(held,))
        gauges = Gauges()
        FleetGauges(gauges, gauges.show).set(later)
        assert gauges.last["blueflame_spent_usd",] == 0.25
        assert gauges.last["blueflame_burn_usd_per_minute",] == 0
        assert gauges.last["blueflame_burn_limit_ratio",] == 0
        assert gauges.last["blueflame_session_burn_usd_per_minute", held.session] == 0


def _are_set(fleet: Fleet) -> None:
    """The gauges of a fleet whose only session is the one with parked calls."""
    gauges = Gauges()
    FleetGauges(gauges, gauges.show).set(fleet)
    assert gauges.last["blueflame_sessions", "running"] == 1
    assert gauges.last["blueflame_sessions", "awaiting_plan"] == 0
    assert gauges.last["blueflame_tasks", "developing"] == 2
    assert gauges.last["blueflame_parked_calls", "scripted"] == 2
    assert gauges.last["blueflame_spent_usd",] == 0.25
    assert gauges.last["blueflame_budget_left_usd",] == 9.75
    assert 0 < gauges.last["blueflame_burn_limit_ratio",] <= 0.25
    assert gauges.last["blueflame_waits_for_person", "plan"] == 0
    assert gauges.last["blueflame_longest_idle_seconds",] == 0  # it waits for its provider
    assert gauges.last["blueflame_queue_pollers", "models"] >= 1
    (session,) = (each.session for each in fleet.sessions)
    assert gauges.last["blueflame_session_spent_usd", session] == 0.25
    assert gauges.last["blueflame_session_budget_left_usd", session] == 9.75
    assert gauges.last["blueflame_session_tasks", session, "developing"] == 2
    assert gauges.last["blueflame_session_waits_for_person", session] == 0
    assert gauges.last["blueflame_session_quiet_seconds", session] >= 0


async def test_a_gauge_falls_back_when_what_it_counts_is_gone(theatre: Theatre) -> None:
    fleet = await read_fleet(theatre.client)
    later = Fleet(at=fleet.at + timedelta(hours=1), queues=(), sessions=())
    gauges = Gauges()
    setter = FleetGauges(gauges, gauges.show)
    setter.set(fleet)
    setter.set(later)
    assert gauges.last["blueflame_queue_pollers", "models"] == 0
    assert gauges.last["blueflame_longest_idle_seconds",] == 0
