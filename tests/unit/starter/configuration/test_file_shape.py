"""What a file's keys may say. What is wrong with any file, `test_bad_yaml` asks of the command."""

import contextlib
import re
from datetime import timedelta
from decimal import Decimal

import pytest
from hypothesis import given

from starter.configuration.configuration_errors import ConfigurationError
from starter.configuration.file_shape import read_file
from starter.configuration.migration import migrate
from starter.configuration.value_types import parse_duration
from tests.unit.broken_yaml import yaml_texts
from workflows.domain.session.session_config import Concurrency, SessionConfig

pytestmark = pytest.mark.fuzz


def complaint(text: str, *, from_repository: bool = False) -> str:
    with pytest.raises(ConfigurationError) as caught:
        read_file(text, "blueflame.yaml", from_repository=from_repository)
    return str(caught.value)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("pacng: flow", "3:1: pacng: unknown key 'pacng'; did you mean 'pacing'?"),
        ("concurrency:\n  validat: 2", "4:3: concurrency.validat: unknown key 'validat'; did you"),
        ("worktree: {copi: [a]}", "3:12: worktree.copi: unknown key 'copi'; did you mean 'copy'?"),
        ("gates:\n  a: {run: x, timout: 3m}", "4:15: gates.a.timout: unknown key 'timout'; did"),
        ("pacing: fast", "3:1: pacing: must be 'wave' or 'flow', not 'fast'"),
        ("approvals: auto", "3:1: approvals: must be a mapping of keys to values, not 'auto'"),
        ("attempts: '3'", "3:1: attempts: must be a whole number, not '3'"),
        ("attempts: 0", "3:1: attempts: must be at least 1, not 0"),
        ("turns: 1001", "3:1: turns: must be at most 1000, not 1001"),
        ("concurrency: {develop: 65}", "3:15: concurrency.develop: must be at most 64, not 65"),
        ("concurrency: {merge: 2}", "3:15: concurrency.merge: must be at most 1, not 2"),
        ("budget: {stop_usd: -1}", "3:10: budget.stop_usd: must be at least 0, not -1"),
        ("budget: {stop_usd: ten}", "3:10: budget.stop_usd: must be a number, not 'ten'"),
        ("gates: [a]", "3:1: gates: must be a mapping of keys to values, not a list"),
        ("gates:\n  Lint: {run: x}", "4:3: gates.Lint: must be of the form 1 to 63 of a-z"),
        ("gates:\n  a: pytest", "4:3: gates.a: must be a mapping of keys to values, not 'pytest'"),
        ("gates:\n  a: {}", "4:3: gates.a: the key 'run' is missing here"),
        ("gates:\n  a: {run: 3}", "4:7: gates.a.run: must be a list, not 3"),
        ("gates:\n  a: {run: []}", "4:7: gates.a.run: a command starts with the program's name"),
        ("gates:\n  a: {run: \"don't\"}", "4:7: gates.a.run: a quote in \"don't\" is not closed"),
        ("gates:\n  a: {run: [sh, -c, a | b]}", "4:7: gates.a.run: 'a | b' holds a pipe"),
        ("gates:\n  a: {run: gitleaks dir}", "4:7: gates.a.run: gitleaks would show agents and"),
        ("worktree: {history: 0}", "3:12: worktree.history: must be auto, full or a number of"),
        ("worktree: {history: true}", "commits from 1 to 1000000, not true"),
        ("worktree: {history: none}", "commits from 1 to 1000000, not 'none'"),
        ("worktree: {setup: [[]]}", "3:20: worktree.setup.0: a command starts with"),
        ("worktree: {network: ['127.1']}", "3:22: worktree.network.0: '127.1' cannot be taken: it"),
        ("worktree: {network: ['*']}", "3:22: worktree.network.0: '*' cannot be taken: a '*'"),
        ("worktree: {network: pkg.example}", "worktree.network: must be a list"),
        (
            "environment: {registries: [{host: '*.example.org'}]}",
            "environment.registries.0: host '*.example.org' cannot be taken: a registry is one",
        ),
        ("environment: {registries: [{host: a.example, privat: true}]}", "privat: unknown key"),
        ("models: {planner: []}", "3:10: models.planner: needs at least 1, and has 0"),
        ("models: {planner: [gpt]}", "3:20: models.planner.0: must be of the form provider/m"),
        ("models: {planner: a/b}", "planner: must be a list, not 'a/b'; put it in brackets: [ ]"),
        ("gates:\n  a: pytest", "not 'pytest'; its keys are cheap, paths, run, timeout"),
        ("providers: {X: {}}", "providers.X: must be of the form 1 to 32 of a-z"),
        ("models: {planner: [gemini/x]}", "provider 'gemini'; did you mean 'google'?"),
        ("models: {planner: [foo/x]}", "unknown provider 'foo'; known are anthropic, openai"),
        ("providers: {x: {}}", "3:1: providers: provider 'x' needs a base_url"),
        ("providers: {x: {key: sk-ab}}", "providers.x.key: this names the environment variable"),
        ("providers: {x: {base_ur: y}}", "unknown key 'base_ur'; did you mean 'base_url'?"),
        ("providers: {x: {timeout_s: 0}}", "providers.x.timeout_s: must be at least 1, not 0"),
        ("catalogue: {x: {}}", "3:13: catalogue.x"),
        ("catalogue: {a/b: {prices: {input_usd: 1}}}", "the key 'output_usd' is missing here"),
        (
            "catalogue: {a/b: {prices: {input_usd: 1, output_usd: '1E+99999999'}}}",
            "output_usd: must be at most 1000000",
        ),
        ("budget: {stop_usd: 1000000.01}", "budget.stop_usd: must be at most 1000000"),
        (
            "deliver: base",
            "3:1: deliver: must be 'branch', 'fast_forward' or 'pull_request', not 'base'",
        ),
    ],
)  # fmt: skip
def test_each_complaint_names_its_place_and_the_remedy(body: str, expected: str):
    message = complaint(f"version: 1\n# a comment\n{body}\n")
    assert message.startswith("blueflame.yaml:")
    assert expected in message


@pytest.mark.parametrize("key", ["warn_usd", "stop_usd", "burn_usd_per_minute"])
@pytest.mark.parametrize("usd", [".nan", "NaN", ".inf", "-.inf", "1e309", "-1", "'10'", "true"])
def test_r44_rejects_an_invalid_budget(key: str, usd: str):
    message = complaint(f"version: 1\nbudget: {{{key}: {usd}}}\n")
    assert re.match(r"blueflame\.yaml:2:(10|\d+): ", message)
    assert "number" in message or f"budget.{key}: must be" in message


def test_all_complaints_are_given_at_once():
    assert len(complaint("version: 1\npacing: x\nturns: x\nfoo: 1\n").splitlines()) == 3


def test_an_empty_key_counts_as_unset():
    file = read_file("version: 1\ngates:\npacing: ~\n", "x").value
    assert file.gates is None
    assert file.pacing is None
    assert read_file("version: 1\ngates: {}\n", "x").value.gates == {}


def test_money_keeps_its_digits():
    file = read_file("version: 1\nbudget: {warn_usd: 0.10, stop_usd: 7}\n", "x").value
    assert file.budget is not None
    assert (file.budget.warn_usd, file.budget.stop_usd) == (Decimal("0.10"), Decimal(7))


def test_a_repository_cannot_switch_the_sandbox_off():
    text = "version: 1\nsandbox: none\n"
    message = complaint(text, from_repository=True)
    assert message.startswith("blueflame.yaml:2:1: sandbox: a repository cannot switch")
    assert read_file(text, "mine.yaml").value.sandbox == "none"
    assert read_file("version: 1\nsandbox: required", "x", from_repository=True).value.sandbox


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("10m", 600), ("1h30m", 5400), ("1h0m5s", 3605), ("24h", 86_400), ("1s", 1)],
)
def test_durations(text: str, seconds: int):
    assert parse_duration(text) == timedelta(seconds=seconds)
    assert parse_duration(timedelta(seconds=seconds)) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "value", ["", "0s", "10", "m", "1.5h", "-1s", "24h1s", "999h", "10 m", "10M", "٣s", 90, None]
)
def test_rejects_an_invalid_duration(value: object):
    with pytest.raises(ValueError, match="duration"):
        parse_duration(value)


def test_ranges_are_those_of_the_domain():
    from starter.configuration.file_shape import ConcurrencySection, ConfigurationFile

    for mine, domain in ((ConfigurationFile, SessionConfig), (ConcurrencySection, Concurrency)):
        for name, info in mine.model_fields.items():
            if name in domain.model_fields and info.metadata and name != "command_timeout":
                assert {*map(repr, info.metadata)} >= {
                    *map(repr, domain.model_fields[name].metadata)
                }


@given(
    yaml_texts(
        "version: 1", "version", "pacing", "flow", "approvals", "plan", "budget", "stop_usd", "run",
        "gates", "timeout", "models", "planner", "openai/x", "worktree", "copy", "setup", "turns",
    )
)  # fmt: skip
def test_any_text_is_read_or_refused_with_its_place(text: str):
    try:
        read_file(text, "x.yaml", from_repository=True)
    except ConfigurationError as error:
        lines = str(error).splitlines()
        assert [
            line for line in lines if not re.match(r"x\.yaml:(\d+:\d+|( and \d+ more))", line)
        ] == []
    with contextlib.suppress(ConfigurationError):
        assert read_file(migrate(text, "x.yaml").text, "x.yaml").value
