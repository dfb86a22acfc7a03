"""A real session under `up`, scraped as Prometheus does: the figures are the session's own."""

import json
import re
from pathlib import Path

import pytest

from starter.console.exit_codes import ExitCode
from tests.e2e.processes import blueflame, repository
from tests.e2e.test_fired_alerts import DRIVES
from tests.scraping import Scraped, free_ports, scrape
from tests.waiting import until_blocking
from workers.settings import Settings
from workers.telemetry.metric_table import BY_NAME

PLAYBOOK = """
schema: 1
name: notes
prices: {input_usd: 1, cached_input_usd: 0.1, cache_write_usd: 1.25, output_usd: 5}
usage: {input_tokens: 1000, cached_input_tokens: 300, output_tokens: 100}
scenes:
  - role: planner
    turns:
      - calls:
          - submit_plan:
              tasks:
                - {id: a, title: Note, acceptance_criteria: [It is there], claims: [a.txt]}
  - role: developer
    turns:
      - error: {kind: rate_limited, retry_after: 1, times: 1}
        calls:
          - bash: {command: 'exit 3'}
          - read: {path: not-there.txt}
          - fly: {}
          - write: {path: a.txt, content: "note\\n"}
      - calls: [{submit: {summary: "It is there."}}]
  - role: reviewer
    turns:
      - calls:
          - submit_verdict:
              approve: true
              summary: "It is there."
              evidence:
                - {criterion: "1", path: a.txt, line_start: 1, line_end: 1, quote: note}
"""
CONFIGURATION = """
version: 1
models: {planner: [scripted/a], developer: [scripted/a], reviewer: [scripted/b]}
worktree: {setup: ['mkdir -p lib && touch lib/x']}
gates:
  fine: {run: 'true'}
  broken: {run: 'false'}
"""
UNSEEN = {
    "llm_time_to_first_token_seconds": "a scripted model answers in one piece",
    "api_rate_limit_remaining": "a scripted model tells of no limit",
    "blueflame_parked_calls": "no call waits that long",
    "blueflame_log_write_errors_total": "only a full disk loses lines",
}
"""The metrics that this session does not move, and why; `test_fired_alerts.py` moves them."""


@pytest.mark.e2e
@pytest.mark.sandbox
@pytest.mark.slow
def test_a_scraped_session_shows_its_own_figures(tmp_path: Path) -> None:
    place = repository(tmp_path / "sample", {"README": "x\n", ".gitignore": "lib/\n"})
    config, playbook = tmp_path / "config.yaml", tmp_path / "playbook.yaml"
    config.write_text(CONFIGURATION)
    playbook.write_text(PLAYBOOK)
    settings = Settings(data_dir=tmp_path / "data", temporal_port=0, ui_port=0)
    first = free_ports(4)
    more = {"BLUEFLAME_METRICS_ADDRESS": f"127.0.0.1:{first}"}
    try:
        came = blueflame(settings, "up", "--detach", "--playbook", str(playbook), more=more)
        assert came.returncode == 0, came.stderr
        given = ("--repo", str(place), "--config", str(config), "--playbook", str(playbook))
        ended = blueflame(settings, "run", "Notes", *given, "--auto-approve")
        assert ended.returncode == ExitCode.COMPLETE, ended.stdout + ended.stderr
        status = json.loads(blueflame(settings, "status", "--json").stdout)
        places = [f"http://127.0.0.1:{first + n}/metrics" for n in range(4)]
        until_blocking(
            lambda: _has_looked_again(scrape(*places)), "a look at the queues and the store"
        )
        found = scrape(*places)
        checked = blueflame(settings, "health", "--json")
        seen = found.names() | _while_one_waits(settings, given, places)
    finally:
        blueflame(settings, "up", "--stop")
    assert set(BY_NAME) - seen == set(UNSEEN)
    _health_names_every_worker(checked.stdout, settings)
    _money_and_tokens_are_the_sessions(found, float(status["spent_usd"]))
    _calls_and_tools_are_those_of_the_playbook(found)
    _work_on_the_host_is_counted(found)
    _server_and_machine_are_seen(found)


def _while_one_waits(settings: Settings, given: tuple[str, ...], places: list[str]) -> set[str]:
    """Return the metrics that are seen while an open session waits for a person."""
    started = blueflame(settings, "run", "More notes", *given, "--detach")
    assert started.returncode == ExitCode.COMPLETE, started.stdout + started.stderr
    found: list[Scraped] = []

    def waits() -> bool:
        found[:] = [scrape(*places)]
        return found[0].of("blueflame_waits_for_person", kind="plan") > 0

    until_blocking(waits, "a look at a session that waits", seen=lambda: found[0].samples)
    return found[0].names()


def test_what_this_session_does_not_move_another_one_does() -> None:
    asked = " ".join(query for drive in DRIVES for query in drive.queries)
    moved = set(re.findall(r"\b(\w+?)(?:_count)? > 0", asked))
    assert moved == set(UNSEEN)
    assert moved < set(BY_NAME)


def _has_looked_again(found: Scraped) -> bool:
    queues = ("workflows", "models", "host", "land")
    pollers = (found.of("blueflame_queue_pollers", queue=queue) for queue in queues)
    return found.of("blueflame_store_bytes") > 0 and all(count == 1 for count in pollers)


def _health_names_every_worker(document: str, settings: Settings) -> None:
    health = json.loads(document)
    # This machine's disk may be fuller than a person's should be.
    assert all(each.startswith("disk:") for each in health["problems"]), health
    queues = {each["queue"]: each for each in health["queues"]}
    own = f"host/{(settings.host_dir / 'name').read_text().strip()}"
    # The server learns of a host's own queue with the first heartbeat, up to a minute later.
    assert set(queues) | {own} == {"workflows", "models", "host", "land", own}
    workers = [each for queue in queues.values() for each in queue["workers"]]
    assert all(each["version"] and each["is_alive"] for each in workers), workers
    assert health["sessions"] == []


def _server_and_machine_are_seen(found: Scraped) -> None:
    assert found.of("blueflame_disk_free_bytes") > 0
    assert found.of("blueflame_unanswered_sessions") == 0
    assert found.of("temporal_workflow_endtoend_latency_seconds_count", workflow_type="MergeWave")
    assert found.of("temporal_worker_task_slots_available", task_queue="host") > 0


def _money_and_tokens_are_the_sessions(found: Scraped, spent_usd: float) -> None:
    assert found.of("llm_cost_usd_total") == pytest.approx(spent_usd)
    tokens = {kind: found.of("llm_tokens_total", type=kind) for kind in ("input", "cached_input")}
    assert tokens == {"input": 4 * 700, "cached_input": 4 * 300}
    assert found.of("llm_tokens_total", type="output", role="developer") == 2 * 100


def _calls_and_tools_are_those_of_the_playbook(found: Scraped) -> None:
    assert found.of("llm_calls_total", outcome="answered") == 4
    assert found.of("llm_calls_total", outcome="RateLimited", role="developer") == 1
    assert found.of("llm_parked_seconds_sum", provider="scripted") == 1
    assert found.of("context_saturation_ratio_count") == 4
    assert found.of("agent_latency_seconds_count", step="model") == 4
    assert found.of("agent_latency_seconds_count", step="tools", role="developer") == 1
    assert found.of("tool_calls_total", tool="bash") == 1
    assert found.of("tool_execution_errors_total", tool="bash", code="exit") == 1
    assert found.of("tool_execution_errors_total", tool="read", code="error") == 1
    assert found.of("tool_execution_errors_total", tool="other", code="error") == 1
    assert found.of("tool_execution_errors_total", tool="write") == 0


def _work_on_the_host_is_counted(found: Scraped) -> None:
    assert found.of("blueflame_activity_seconds_count", activity="tools.run") == 1
    assert found.of("blueflame_activity_failures_total") == 1
    assert found.of("blueflame_checkpoint_seconds_count") == 1
    assert found.of("blueflame_gate_run_seconds_count", of="base") == 1
    assert found.of("blueflame_gate_results_total", of="work", result="failed") == 2
    assert found.of("blueflame_setups_total", by="commands") == 1
    assert found.of("blueflame_setups_total", by="snapshot") > 0
    assert found.of("blueflame_setup_seconds_count") == 1
    assert found.of("blueflame_sandbox_starts_total", end="exited") > 4
    assert found.of("blueflame_merges_total", outcome="merged") == 1
    assert found.of("blueflame_deliveries_total", outcome="delivered") == 1
