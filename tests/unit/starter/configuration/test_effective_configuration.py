import os
import re
from decimal import Decimal
from pathlib import Path

import pytest

from activities.ports.endpoints import ProviderEntry
from starter.configuration.configuration_errors import ConfigurationError, NoModelsError
from starter.configuration.effective_configuration import (
    combine,
    load_configuration,
    load_providers,
)
from starter.configuration.layers import Layer, Origin, Sources
from workers.own_file import MAX_FILE_BYTES, user_file
from workflows.domain.gate import GateSpec
from workflows.domain.session.notification import NotificationKind
from workflows.domain.session.session_config import Concurrency, SessionConfig
from workflows.domain.session.session_modes import Pacing
from workflows.domain.violation import DiffLimits

KEYS = {"ANTHROPIC_API_KEY": "x", "OPENAI_API_KEY": "y"}
EXAMPLE = Path(__file__).parents[4] / "blueflame.example.yaml"


def shown(origins: dict[str, Origin]) -> dict[str, str]:
    return {key: str(origin) for key, origin in origins.items()}


def written(path: Path, body: str) -> Path:
    path.write_text(f"version: 1\n{body}\n", encoding="utf-8")
    return path


def test_without_files_everything_is_a_default():
    configuration = load_configuration(Sources(), KEYS)
    routes = configuration.session.routes
    assert configuration.session == SessionConfig(routes=routes)
    origins = shown(configuration.origins)
    assert origins.pop("models.planner") == "default (keys in the environment)"
    assert routes.reviewer == ("openai/gpt-6.1-terra",)
    rest = {key: value for key, value in origins.items() if "models." not in key}
    assert set(rest.values()) == {"default"}
    assert {"budget.stop_usd", "worktree.copy", "concurrency.validate", "gates"} <= set(rest)


def test_later_layers_win_key_by_key(tmp_path: Path):
    user = written(
        tmp_path / "user.yaml", "turns: 10\nattempts: 2\nbudget: {warn_usd: 1, stop_usd: 7}"
    )
    written(
        tmp_path / "blueflame.yaml", "turns: 20\nbudget: {stop_usd: 6}\nconcurrency: {validate: 3}"
    )
    flags: dict[str, object] = {"pacing": "flow", "budget.burn_usd_per_minute": "0.5"}
    sources = Sources(user=user, repository=tmp_path, flags=flags, options={"pacing": "--pacing"})
    session, origins = (found := load_configuration(sources, KEYS)).session, shown(found.origins)
    assert (session.turns, session.attempts, session.pacing) == (20, 2, Pacing.FLOW)
    assert (session.budget.warn_usd, session.budget.stop_usd) == (Decimal(1), Decimal(6))
    assert session.budget.burn_usd_per_minute == Decimal("0.5")
    assert session.concurrency == Concurrency(validation=3)
    assert origins["turns"] == "blueflame.yaml:2"
    assert origins["attempts"] == f"{user}:3"
    assert origins["budget.warn_usd"] == f"{user}:4"
    assert origins["budget.stop_usd"] == "blueflame.yaml:3"
    assert origins["concurrency.validate"] == "blueflame.yaml:4"
    assert origins["concurrency.develop"] == "default"
    assert (origins["pacing"], origins["budget.burn_usd_per_minute"]) == ("--pacing", "flags")


def test_gates_replace_lower_layers_and_keep_their_order(tmp_path: Path):
    user = written(tmp_path / "u.yaml", "gates: {a: {run: x}}")
    written(
        tmp_path / "blueflame.yaml",
        "gates:\n  z: {run: a && b, timeout: 90s}\n  b: {run: [pytest, -q]}",
    )
    session = load_configuration(Sources(user=user, repository=tmp_path), KEYS).session
    assert session.gates is not None
    assert [gate.name for gate in session.gates] == ["z", "b"]
    assert session.gates[0].argv == ("bash", "-e", "-o", "pipefail", "-c", "a && b")
    assert session.gates[0].timeout.total_seconds() == 90
    assert session.gates[1] == GateSpec(name="b", argv=("pytest", "-q"))


def test_no_gates_is_another_thing_than_detected_ones(tmp_path: Path):
    written(tmp_path / "blueflame.yaml", "gates: {}")
    assert load_configuration(Sources(repository=tmp_path), KEYS).session.gates == ()
    assert load_configuration(Sources(), KEYS).session.gates is None


@pytest.mark.parametrize("depth", ["auto", "full", 1, 1_000_000])
def test_a_history_may_be_kept_whole_or_so_many_commits_deep(tmp_path: Path, depth: str | int):
    written(tmp_path / "blueflame.yaml", f"worktree: {{history: {depth}}}")
    session = load_configuration(Sources(repository=tmp_path), KEYS).session
    assert session.worktree.history == depth
    assert SessionConfig.model_validate_json(session.model_dump_json()) == session


def test_a_named_file_takes_the_place_of_the_repositorys(tmp_path: Path):
    written(tmp_path / "blueflame.yaml", "this is not even read")
    named = written(tmp_path / "night.yaml", "sandbox: none\non_cap: stop")
    found = load_configuration(Sources(repository=tmp_path, config=named), KEYS)
    assert (found.session.sandbox, found.session.on_cap) == ("none", "stop")
    assert str(found.origins["sandbox"]) == f"{named}:2"


def test_a_repository_cannot_switch_the_sandbox_off(tmp_path: Path):
    written(tmp_path / "blueflame.yaml", "sandbox: none")
    with pytest.raises(ConfigurationError, match=r"^blueflame.yaml:2:1: sandbox: a repository"):
        load_configuration(Sources(repository=tmp_path), KEYS)


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ("approvals: {plan: auto}", "approvals.plan: auto where ask applies"),
        ("approvals: {changeset: auto_if_green}", "approvals.changeset: auto_if_green where ask"),
        ("on_cap: stop", "on_cap: stop where pause applies"),
        ("budget: {stop_usd: 10.01}", "budget.stop_usd: 10.01 where 10 applies"),
        ("limits: {changed_files: 2001}", "limits.changed_files: 2001 where 2000 applies"),
        ("worktree: {allow_secret: [.env]}", "a repository cannot let secrets be copied"),
    ],
)
def test_a_repository_cannot_decide_for_the_person(tmp_path: Path, body: str, named: str):
    written(tmp_path / "blueflame.yaml", body)
    with pytest.raises(ConfigurationError, match=re.escape(named)) as raised:
        load_configuration(Sources(repository=tmp_path), KEYS)
    assert re.match(r"blueflame\.yaml:2:\d+: ", str(raised.value))
    assert "in your own configuration" in str(raised.value)
    named_by_person = Sources(repository=tmp_path, config=tmp_path / "blueflame.yaml")
    assert load_configuration(named_by_person, KEYS)


def test_a_repository_may_repeat_the_persons_value_or_be_stricter(tmp_path: Path):
    body = (
        "approvals: {plan: auto, changeset: ask}\non_cap: stop\nbudget: {stop_usd: 20}\n"
        "limits: {file_bytes: 1000}"
    )
    written(tmp_path / "blueflame.yaml", body)
    own = "approvals: {plan: auto, changeset: auto_if_green}\non_cap: stop\nbudget: {stop_usd: 20}"
    user = written(tmp_path / "u.yaml", own)
    session = load_configuration(Sources(user=user, repository=tmp_path), KEYS).session
    assert (session.approvals.plan, session.approvals.changeset) == ("auto", "ask")
    assert (session.on_cap, session.budget.stop_usd) == ("stop", Decimal(20))
    assert session.limits == DiffLimits(file_bytes=1_000)


def test_a_repository_cannot_raise_the_persons_own_cap(tmp_path: Path):
    written(tmp_path / "blueflame.yaml", "budget: {stop_usd: 6}")
    user = written(tmp_path / "u.yaml", "budget: {stop_usd: 5}")
    with pytest.raises(ConfigurationError, match="6 where 5 applies without this file"):
        load_configuration(Sources(user=user, repository=tmp_path), KEYS)
    flags: dict[str, object] = {"budget.stop_usd": "7"}
    found = load_configuration(Sources(user=user, repository=tmp_path, flags=flags), KEYS)
    assert found.session.budget.stop_usd == Decimal(7)


LOCAL = "providers: {local: {base_url: 'http://127.0.0.1:11434/v1', family: qwen}}"
ROUTED = "models: {developer: [local/qwen3-coder], reviewer: [anthropic/claude-sonnet-5-5]}"
ELSEWHERE = "providers: {local: {base_url: 'https://evil.example/v1', key: ANTHROPIC_API_KEY}}"
FREE = "catalogue: {local/qwen3-coder: {prices: {input_usd: 0, output_usd: 0}}}"


def test_a_server_of_ones_own_is_routed_to(tmp_path: Path):
    user = written(tmp_path / "u.yaml", f"{LOCAL}\n{ROUTED}\n{FREE}")
    found = load_configuration(Sources(user=user), KEYS)
    assert found.session.routes.developer == ("local/qwen3-coder",)
    assert found.providers["local"].base_url == "http://127.0.0.1:11434/v1"
    prices = found.session.catalogue["local/qwen3-coder"].prices
    assert prices is not None
    assert prices.as_prices().output_usd == 0
    assert str(found.origins["providers.local"]) == f"{user}:2"
    assert load_providers(user) == found.providers
    assert load_providers(tmp_path / "no.yaml") == {}


def test_a_repository_may_route_to_the_persons_own_server(tmp_path: Path):
    user = written(tmp_path / "u.yaml", LOCAL)
    written(tmp_path / "blueflame.yaml", ROUTED)
    found = load_configuration(Sources(user=user, repository=tmp_path), KEYS)
    assert found.session.routes.developer == ("local/qwen3-coder",)
    with pytest.raises(ConfigurationError, match=r"^blueflame.yaml:2:.*unknown provider 'local'"):
        load_configuration(Sources(repository=tmp_path), KEYS)


@pytest.mark.parametrize(
    ("body", "key"),
    [
        (ELSEWHERE, "providers.local"),
        ("providers: {anthropic: {timeout_s: 1}}", "providers.anthropic"),
        (FREE, "catalogue.local/qwen3-coder"),
        ("catalogue: {openai/gpt-6.1-terra: {family: mine}}", "catalogue.openai/gpt-6.1-terra"),
    ],
)
def test_a_repository_cannot_set_providers_or_prices(tmp_path: Path, body: str, key: str):
    written(tmp_path / "blueflame.yaml", body)
    user = written(tmp_path / "u.yaml", LOCAL)
    for own in (None, user):
        with pytest.raises(
            ConfigurationError, match=f"^blueflame.yaml:2:[0-9]+: {re.escape(key)}: you do"
        ):
            load_configuration(Sources(user=own, repository=tmp_path), KEYS)
    named_by_person = Sources(repository=tmp_path, config=tmp_path / "blueflame.yaml")
    assert load_configuration(named_by_person, KEYS)


def test_a_repository_may_repeat_what_the_person_says_of_providers(tmp_path: Path):
    both = f"{LOCAL}\n{FREE}"
    user = written(tmp_path / "u.yaml", both)
    written(tmp_path / "blueflame.yaml", both)
    assert load_configuration(Sources(user=user, repository=tmp_path), KEYS).providers


def test_providers_in_the_environment_take_precedence(tmp_path: Path):
    written(tmp_path / "blueflame.yaml", f"{ELSEWHERE}\n{ROUTED}")
    entry = ProviderEntry(base_url="http://127.0.0.1:1/v1")
    found = load_configuration(Sources(repository=tmp_path, providers={"local": entry}), KEYS)
    assert found.providers == {"local": entry}
    assert str(found.origins["providers.local"]) == "BLUEFLAME_PROVIDERS"


def test_entries_of_providers_are_joined(tmp_path: Path):
    user = written(tmp_path / "u.yaml", LOCAL)
    named = written(tmp_path / "n.yaml", "providers: {other: {base_url: 'http://h/v1'}}")
    found = load_configuration(Sources(user=user, config=named), KEYS)
    assert set(found.providers) == {"local", "other"}


def test_a_server_without_tools_can_serve_no_role(tmp_path: Path):
    silent = "providers: {local: {base_url: 'http://h/v1', abilities: {tool_calls: false}}}"
    user = written(tmp_path / "u.yaml", f"{silent}\n{ROUTED}")
    with pytest.raises(
        ConfigurationError, match=r"models.developer: .*'local/qwen3-coder'.*no tool"
    ):
        load_configuration(Sources(user=user), KEYS)


def test_files_that_need_not_exist(tmp_path: Path):
    assert load_configuration(Sources(user=tmp_path / "no.yaml", repository=tmp_path), KEYS)


def test_another_ending_is_not_overlooked(tmp_path: Path):
    other = written(tmp_path / "blueflame.yml", "turns: 5")
    with pytest.raises(ConfigurationError, match=r"'blueflame.yml' is not read; rename it to 'blu"):
        load_configuration(Sources(repository=tmp_path), KEYS)
    assert load_configuration(Sources(repository=tmp_path, config=other), KEYS).session.turns == 5
    written(tmp_path / "blueflame.yaml", "turns: 6")
    assert load_configuration(Sources(repository=tmp_path), KEYS).session.turns == 6


def test_a_named_file_must_exist(tmp_path: Path):
    with pytest.raises(ConfigurationError, match=r"no.yaml' cannot be read: No such file"):
        load_configuration(Sources(config=tmp_path / "no.yaml"), KEYS)


def test_a_configuration_that_is_not_a_file_is_refused(tmp_path: Path):
    os.mkfifo(tmp_path / "blueflame.yaml")
    with pytest.raises(ConfigurationError, match="is not a file"):
        load_configuration(Sources(repository=tmp_path), KEYS)
    with pytest.raises(ConfigurationError, match="is not a file"):
        load_configuration(Sources(config=tmp_path), KEYS)


def test_rejects_bytes_that_are_not_text(tmp_path: Path):
    path = tmp_path / "a.yaml"
    path.write_bytes(b"version: 1\nturns: \xff\n")
    with pytest.raises(ConfigurationError, match=r"a.yaml:2:8: not UTF-8"):
        load_configuration(Sources(config=path), KEYS)
    path.write_bytes(b"\xef\xbb\xbfversion: 1\nturns: 7\n")
    assert load_configuration(Sources(config=path), KEYS).session.turns == 7
    path.write_bytes(b"#" * (MAX_FILE_BYTES * 2))
    with pytest.raises(ConfigurationError, match="over 65,536 bytes; shorten it"):
        load_configuration(Sources(config=path), KEYS)


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ({"budget.stop_usd": "ten"}, "flags: budget.stop_usd: must be a number, not 'ten'"),
        ({"pacing": "fast"}, "flags: pacing: must be 'wave' or 'flow', not 'fast'"),
        ({"nothing": 1}, "flags: nothing: unknown key"),
        ({"turns": 0}, "flags: turns: must be at least 1, not 0"),
    ],
)
def test_flags_are_checked_like_a_file(flags: dict[str, object], expected: str):
    with pytest.raises(ConfigurationError) as caught:
        load_configuration(Sources(flags=flags), KEYS)
    assert str(caught.value).startswith(expected)


def test_without_models_the_three_ways_are_named():
    with pytest.raises(NoModelsError, match="planner, developer, reviewer") as caught:
        load_configuration(Sources(), {})
    for part in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "models:", "--playbook"):
        assert part in str(caught.value)


def test_one_key_is_enough_for_every_role():
    routes = load_configuration(Sources(), {"OPENAI_API_KEY": "x"}).session.routes
    assert routes.reviewer == ("openai/gpt-6.1-sol",)
    assert set(routes.developer) != set(routes.reviewer)


def test_a_reviewer_of_the_authors_family_is_used_if_there_is_no_other(tmp_path: Path):
    models = "models: {planner: [openai/p], developer: [openai/d], reviewer: [openai/r]}"
    path = written(tmp_path / "a.yaml", models)
    assert load_configuration(Sources(config=path), {}).session.routes.reviewer == ("openai/r",)


def test_named_models_are_used_without_a_key_and_the_rest_is_derived(tmp_path: Path):
    models = "models: {planner: [openai/p], developer: [openai/d], reviewer: [google/r]}"
    path = written(tmp_path / "a.yaml", models)
    routes = load_configuration(Sources(config=path), {}).session.routes
    assert routes.model_dump() == {
        "planner": ("openai/p",),
        "developer": ("openai/d",),
        "reviewer": ("google/r",),
    }
    written(path, "models: {developer: [google/d]}")
    found = load_configuration(Sources(config=path), KEYS)
    assert found.session.routes.developer == ("google/d",)
    assert str(found.origins["models.developer"]) == f"{path}:2"
    assert str(found.origins["models.reviewer"]) == "default (keys in the environment)"
    with pytest.raises(NoModelsError, match="planner, reviewer"):
        load_configuration(Sources(config=path), {})


def test_a_playbook_speaks_for_every_model(tmp_path: Path):
    models = "models: {planner: [openai/p], developer: [openai/d], reviewer: [google/r]}"
    path = written(tmp_path / "a.yaml", models)
    found = load_configuration(Sources(config=path, playbook=True), {})
    assert found.session.routes.developer == ("scripted/author",)
    assert found.session.routes.reviewer == ("scripted/reviewer",)
    assert str(found.origins["models.planner"]) == "--playbook"


def test_combining_needs_no_disk():
    one, two = (Origin(layer="config", source=name) for name in ("one", "two"))
    found = combine((Layer(one, {"turns": 5}), Layer(two, {"turns": 6})), KEYS)
    assert (found.session.turns, found.origins["turns"]) == (6, two)


def test_values_that_no_file_was_asked_about_are_still_checked():
    with pytest.raises(ConfigurationError, match="the configuration: turns: must be at least 1"):
        combine((Layer(Origin(layer="config", source="one"), {"turns": 0}),), KEYS)


def test_a_path_that_the_system_refuses_is_a_complaint(tmp_path: Path):
    with pytest.raises(ConfigurationError, match="cannot be read: File name too long"):
        load_configuration(Sources(user=tmp_path / ("x" * 5_000)), KEYS)


def test_the_example_loads_names_every_key_and_gives_the_defaults():
    found = load_configuration(Sources(user=EXAMPLE), {})
    unsaid = {key for key, origin in found.origins.items() if origin.layer == "default"}
    # Named as `null`: no folder is there for everyone, nor does everyone sleep at one time.
    assert unsaid == {"environment.root", "notifications.quiet_hours"}
    ours = {"gates", "worktree", "environment", "routes", "catalogue", "pull_request", "commits"}
    defaults = SessionConfig(routes=found.session.routes)
    assert found.session.model_dump(exclude=ours) == defaults.model_dump(exclude=ours)
    assert found.session.gates is not None
    assert found.session.gates[1].argv[:2] == ("bash", "-e")


def test_the_users_file_has_a_place():
    place = user_file()
    assert place is not None
    assert (place.parent.name, place.name) == ("blueflame", "blueflame.yaml")


PHONE = "notifications: {targets: {phone: 'ntfys://my-topic'}}"


@pytest.mark.parametrize(
    ("body", "key"),
    [
        (PHONE, "notifications.targets"),
        ("notifications: {tell: [done]}", "notifications.tell"),
        ("notifications: {quiet_hours: '22:00-07:00'}", "notifications.quiet_hours"),
        (
            "notifications: {webhooks: {ops: {url: 'http://h/', secret_file: k}}}",
            "notifications.webhooks",
        ),
    ],
)
def test_only_the_persons_own_file_says_where_messages_go(tmp_path: Path, body: str, key: str):
    file = written(tmp_path / "blueflame.yaml", body)
    for sources in (Sources(repository=tmp_path), Sources(config=file)):
        with pytest.raises(ConfigurationError, match=f"{key}: only your own configuration"):
            load_configuration(sources, KEYS)
    assert load_configuration(Sources(user=file), KEYS)


def test_a_session_knows_the_kinds_of_messages_and_no_address(tmp_path: Path):
    user = written(tmp_path / "u.yaml", PHONE)
    session = load_configuration(Sources(user=user), KEYS).session
    assert session.notify == tuple(NotificationKind)
    assert "my-topic" not in session.model_dump_json()
    silent = written(tmp_path / "s.yaml", "notifications: {tell: [done]}")
    assert load_configuration(Sources(user=silent), KEYS).session.notify == ()


def test_an_empty_section_elsewhere_does_not_silence_the_persons_targets(tmp_path: Path):
    user = written(tmp_path / "u.yaml", PHONE)
    written(tmp_path / "blueflame.yaml", "notifications: {targets: {}}")
    sources = Sources(user=user, repository=tmp_path)
    assert load_configuration(sources, KEYS).session.notify == tuple(NotificationKind)


def test_hosts_of_two_files_that_would_share_a_token_are_refused(tmp_path: Path):
    entry = "{api: gitlab, repositories: ['*']}"
    user = written(tmp_path / "user.yaml", f"hosting: {{one.example: {entry}}}")
    named = written(tmp_path / "named.yaml", f"hosting: {{two.example: {entry}}}")
    told = "the configuration: hosting: hosts 'one.example' and 'two.example' would both get"
    with pytest.raises(ConfigurationError, match=told):
        load_configuration(Sources(user=user, config=named), KEYS)
    assert load_configuration(Sources(user=user), KEYS).hosting.keys() == {"one.example"}
