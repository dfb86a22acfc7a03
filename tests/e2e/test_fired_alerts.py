"""Each alert of docker/alerts.yml is brought about by the real program, and Prometheus raises it.

Server, workers, activities and clients of providers are the real ones; the provider is simulated
over HTTP. Each row of `DRIVES` brings the program into a condition, after which Prometheus must
list the row's alerts: as pending if the rule has a `for`, because `tests/unit/test_alerts.py` lets
that time pass. Prometheus has the shipped rules, except for the three times in `HURRIED`.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from ruamel.yaml import YAML

from activities.adapters.models.scripted.playbook import Playbook
from tests.crash import play
from tests.crash.stage import SERVER, Actor, Stage, stage
from tests.e2e.prometheus import RULES, Asked, prometheus
from tests.scraping import free_ports
from tests.waiting import LONG_PATIENCE, until
from workers.roles import Role
from workflows.domain.budget import Caps
from workflows.domain.session.session_config import Approvals

HURRIED = {
    "blueflame_longest_idle_seconds) > 3600": "blueflame_longest_idle_seconds) > 3.6",
    "_wait_for_person_seconds) > 4 * 3600": "_wait_for_person_seconds) > 4 * 3.6",
    ")) > 1800": ")) > 1.8",
}
"""What takes half an hour or longer is raised after a thousandth of its time."""
SMALL_DISK = 1 << 30
MANY = 12
"""More than the ten calls, or pieces of work, below which no alert is raised."""
SLOW_SECONDS = 31
LIMITED = {"kind": "rate_limited", "retry_after": 0.1}
PLAN: dict[str, Any] = {
    "calls": [
        {
            "submit_plan": {
                "summary": "one task",
                "tasks": [
                    {"id": "a", "title": "A", "acceptance_criteria": ["It is"], "claims": ["a"]}
                ],
            }
        }
    ]
}


def hurried(rules: str) -> str:
    """Return the shipped rules with the times of `HURRIED`, otherwise unchanged."""
    for shipped, short in HURRIED.items():
        assert rules.count(shipped) == 1, shipped
        rules = rules.replace(shipped, short)
    return rules


def planning(*turns: dict[str, Any]) -> Playbook:
    """Return a playbook in which the planner has these turns before it submits its plan."""
    scene = {"role": "planner", "turns": [*turns, PLAN]}
    usage = {"input_tokens": 1_000, "output_tokens": 100}
    document = {"schema": 1, "name": "alerts", "usage": usage, "scenes": [scene]}
    return Playbook.model_validate(document)


def wrong_reads(count: int) -> dict[str, Any]:
    """Return a turn in which a model asks for so many files that are not there."""
    return {"calls": [{"read": {"path": f"not-there-{number}"}} for number in range(count)]}


@dataclass(frozen=True)
class Driven:
    """The running program, and Prometheus beside it."""

    stage: Stage
    repository: Path
    asked: Asked

    async def begin(self, *turns: dict[str, Any], **config: Any) -> None:
        """Start a session whose planner has these turns, and whose plan waits for a person."""
        self.stage.simulator.play(planning(*turns))
        changes: dict[str, Any] = {
            "approvals": Approvals(plan="ask"),
            "on_cap": "pause",
            **config,
        }
        await play.start(self.stage.client, self.repository, **changes)

    async def restart_by(self, role: Role, *words: str) -> None:
        """Start a worker again by another command, which becomes the usual one."""
        usual = self.stage.actors[role]
        await usual.close()
        program = replace(usual.program, argv=(*words, *usual.program.argv))
        self.stage.actors[role] = Actor(program)
        await self.stage.restart(role)

    async def finds(self, *queries: str) -> None:
        """Wait until Prometheus finds something for each query."""
        for query in queries:
            ask = lambda query=query: asyncio.to_thread(self.asked.value, query)  # noqa: E731
            await until(ask, query, LONG_PATIENCE)

    async def raised(self) -> set[str]:
        """Name the alerts whose condition holds now."""
        return set(await asyncio.to_thread(self.asked.alerts, "pending", "firing"))


async def a_plan_waits(driven: Driven) -> None:
    """Also make the first of each count, without which Prometheus sees no rise."""
    await driven.begin({**wrong_reads(1), "error": {**LIMITED, "times": 1}})
    await driven.finds(
        'llm_calls_total{outcome="RateLimited"}',
        "llm_time_to_first_token_seconds_count",
        "tool_execution_errors_total",
        "context_saturation_ratio_count",
        'temporal_workflow_endtoend_latency_seconds_count{workflow_type="PlanWave"}',
    )


async def a_bad_day(driven: Driven) -> None:
    full = {"input_tokens": 1_000_000, "output_tokens": 1_000}
    await driven.begin(
        {**wrong_reads(MANY), "error": {**LIMITED, "times": MANY}},
        {**wrong_reads(1), "latency_s": SLOW_SECONDS, "usage": full},
    )


async def a_costly_call(driven: Driven) -> None:
    usage = {"input_tokens": 100_000, "output_tokens": 1_000}
    caps = Caps(burn_usd_per_minute=Decimal("0.0001"))
    await driven.begin({**wrong_reads(1), "usage": usage}, budget=caps)


async def a_refused_key(driven: Driven) -> None:
    await driven.begin({"error": {"kind": "auth"}})


async def a_silent_provider(driven: Driven) -> None:
    await driven.begin({**wrong_reads(1), "latency_s": 3_600})


async def a_used_up_limit(driven: Driven) -> None:
    await driven.begin({"error": {"kind": "rate_limited", "retry_after": 3_600}})


async def no_one_lands(driven: Driven) -> None:
    await driven.stage.kill([Role.LAND])
    for _ in range(MANY):
        await driven.begin()


async def a_build_is_gone(driven: Driven) -> None:
    await driven.stage.restart(Role.WORKFLOWS, BLUEFLAME_BUILD="1.0-another")


async def a_small_disk(driven: Driven) -> None:
    disk = ("--size", str(SMALL_DISK), "--tmpfs", str(driven.stage.settings.host_dir))
    await driven.restart_by(Role.HOST, "bwrap", "--dev-bind", "/", "/", *disk)


async def a_full_log(driven: Driven) -> None:
    await driven.restart_by(Role.WORKFLOWS, "sh", "-c", 'exec "$@" 2>/dev/full', "sh")
    await driven.stage.kill([SERVER])  # which the worker then logs


class Drive(NamedTuple):
    """What brings the program into a condition, and what Prometheus must say then."""

    run: Callable[[Driven], Awaitable[None]]
    alerts: frozenset[str]
    queries: tuple[str, ...] = ()
    """Those of metrics that `tests/e2e/test_metrics.py` leaves out."""


DRIVES = (
    Drive(a_plan_waits, frozenset({"BlueflameWaitsForPerson"}), ("api_rate_limit_remaining > 0",)),
    Drive(
        a_bad_day,
        frozenset(
            {
                "BlueflameProviderErrors",
                "BlueflameToolErrors",
                "BlueflameSlowFirstToken",
                "BlueflameContextSaturated",
                "BlueflameSlowStage",
            }
        ),
        ("llm_time_to_first_token_seconds_count > 0",),
    ),
    Drive(a_costly_call, frozenset({"BlueflameBurnAboveLimit"})),
    Drive(a_refused_key, frozenset({"BlueflameKeyRefused"})),
    Drive(a_silent_provider, frozenset({"BlueflameNoProgress"})),
    Drive(a_used_up_limit, frozenset(), ("blueflame_parked_calls > 0",)),
    Drive(no_one_lands, frozenset({"BlueflameNoPoller", "BlueflameBacklog"})),
    Drive(a_build_is_gone, frozenset({"BlueflameUnanswered"})),
    Drive(a_small_disk, frozenset({"BlueflameDiskLow"})),
    Drive(a_full_log, frozenset({"BlueflameLogLost"}), ("blueflame_log_write_errors_total > 0",)),
)
"""In this order: the later ones need or leave behind what would disturb the earlier ones."""


def test_every_alert_is_brought_about() -> None:
    (group,) = YAML(typ="safe").load(RULES.read_text())["groups"]
    driven = [alert for drive in DRIVES for alert in drive.alerts]
    assert sorted(driven) == sorted(rule["alert"] for rule in group["rules"])


@pytest.mark.e2e
@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.timeout(1_200)
async def test_the_program_raises_each_alert(tmp_path: Path) -> None:
    rules = tmp_path / "alerts.yml"
    rules.write_text(hurried(RULES.read_text()))
    first = free_ports(5)
    served = {"BLUEFLAME_METRICS_ADDRESS": f"127.0.0.1:{first}"}
    with prometheus(tmp_path, first, first + 4, rules) as asked:
        async with stage(tmp_path, planning(), variables=served) as running:
            driven = Driven(running, play.make_repository(tmp_path / "repository"), asked)
            await driven.finds("count(up == 1) == 4", "count(blueflame_queue_pollers == 1) >= 4")
            for drive in DRIVES:
                await _comes(driven, drive)


async def _comes(driven: Driven, drive: Drive) -> None:
    name, seen = drive.run.__name__, set[str]()

    async def is_quiet() -> bool:
        seen.clear()
        seen.update(await driven.raised())
        return seen.isdisjoint(drive.alerts)

    async def is_raised() -> bool:
        seen.update(await driven.raised())
        return seen >= drive.alerts

    await until(is_quiet, f"no alert of {name} before it", LONG_PATIENCE, lambda: seen)
    await drive.run(driven)
    await until(is_raised, f"the alerts of {name}", LONG_PATIENCE, lambda: seen)
    await driven.finds(*drive.queries)
