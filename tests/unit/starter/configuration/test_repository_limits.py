"""What a repository's file may say about the policy of tool calls."""

from datetime import timedelta
from pathlib import Path

import pytest

from activities.ports.land.hosting_entries import HostingEntry
from starter.configuration.configuration_errors import ConfigurationError
from starter.configuration.effective_configuration import combine, load_configuration
from starter.configuration.file_shape import read_file
from starter.configuration.layers import Layer, Origin, Sources
from starter.configuration.repository_limits import limit_faults
from tests.unit.starter.configuration.test_effective_configuration import KEYS
from workflows.domain.environment import CommandBounds, Registry
from workflows.domain.plan import TaskKind

OWN = Origin(layer="user", source="own.yaml")
NAMED = Origin(layer="config", source="named.yaml")
FOUND = Origin(layer="repository", source="blueflame.yaml")
HOSTED = HostingEntry(repositories=("acme/*",))


@pytest.mark.parametrize(
    ("found", "own"),
    [
        ({"policy.developer_tools": ("bash", "read")}, {}),
        ({"policy.planner_tools": ()}, {}),
        ({"policy.allow_commands": ("ls *",)}, {}),
        ({"policy.allow_commands": ("ls *",)}, {"policy.allow_commands": ("ls *", "git log *")}),
        ({"policy.write_paths": ("src/**",)}, {}),
        ({"policy.read_paths": ("src/**",)}, {"policy.read_paths": ("src/**", "docs")}),
        ({"policy.deny_commands": ("rm",), "policy.blocked_paths": ("x",)}, {}),
        ({"policy.lift": ("network",)}, {"policy.lift": ("network", "publish")}),
        ({"worktree.network": ()}, {}),
        ({"deliver": "branch"}, {"deliver": "pull_request"}),
        ({"deliver": "fast_forward"}, {"deliver": "fast_forward"}),
        ({"commits.history": "keep", "commits.sign": "auto"}, {"commits.sign": "auto"}),
        ({"deliver": "pull_request"}, {"deliver": "pull_request"}),
        ({"deliver": "pull_request"}, {"hosting.github.com": HOSTED}),
        ({"hosting.github.com": HOSTED}, {"hosting.github.com": HOSTED}),
        (
            {"worktree.network": ("pkg.example",)},
            {"worktree.network": ("a.org", "pkg.example")},
        ),
    ],
)
def test_a_repository_may_leave_something_out_and_deny_more(
    found: dict[str, object], own: dict[str, object]
):
    assert limit_faults(found, own) == ()


@pytest.mark.parametrize(
    ("found", "own", "fault"),
    [
        (
            {"policy.planner_tools": ("bash", "write")},
            {},
            "policy.planner_tools: [bash, write] where [bash, read] applies without this file: ",
        ),
        ({"policy.lift": ("network",)}, {}, "policy.lift: [network] where [] applies"),
        (
            {"deliver": "fast_forward"},
            {"hosting.github.com": HOSTED},
            "deliver: fast_forward where",
        ),
        ({"commits.sign": "never"}, {}, "commits.sign: never where auto applies without"),
        ({"commits.author": "me"}, {}, "commits.author: me where blueflame applies without"),
        ({"deliver": "pull_request"}, {}, "deliver: pull_request where branch applies without"),
        ({"hosting.github.com": HOSTED}, {}, "hosting.github.com: you do not say this yourself"),
        (
            {"worktree.network": ("pkg.example",)},
            {},
            "worktree.network: [pkg.example] where [] applies without this file: a ",
        ),
        (
            {"worktree.network": ("b.a.example",)},
            {"worktree.network": ("*.a.example",)},
            "worktree.network: [b.a.example] where [*.a.example] applies",
        ),
        (
            {"policy.allow_commands": ("ls *", "rm *")},
            {"policy.allow_commands": ("ls *",)},
            "policy.allow_commands: [ls *, rm *] where [ls *] applies",
        ),
        (
            {"policy.write_paths": ("**",)},
            {"policy.write_paths": ("src/**",)},
            "policy.write_paths: [**] where [src/**] applies",
        ),
    ],
)
def test_a_repository_may_not_widen(found: dict[str, object], own: dict[str, object], fault: str):
    (said,) = limit_faults(found, own)
    assert said.startswith(fault)


def test_lists_that_deny_are_joined_and_others_are_replaced():
    own = Layer(OWN, {"policy.deny_commands": ("rm *",), "policy.read_paths": ("a", "b")})
    found = Layer(FOUND, {"policy.deny_commands": ("make x", "rm *"), "policy.read_paths": ("a",)})
    policy = combine((own, found), KEYS).session.policy
    assert policy.deny_commands == ("rm *", "make x")
    assert policy.read_paths == ("a",)


def test_a_flag_or_named_file_counts_as_the_persons_own():
    named = Layer(NAMED, {"policy.lift": ("network",)})
    assert combine((named,), KEYS).session.policy.lift == ("network",)
    found = Layer(FOUND, {"policy.lift": ("network",)})
    with pytest.raises(ConfigurationError, match="cannot decide that for you"):
        combine((found,), KEYS)


def test_a_toolchain_that_a_repository_asks_for_is_a_line_to_copy():
    asked = {"environment.toolchains": ("~/.cargo", "/opt/go")}
    own = {"environment.toolchains": ("~/.cargo", "~/.rustup")}
    (fault,) = limit_faults(asked, own)
    assert "`environment: {toolchains: [~/.cargo, ~/.rustup, /opt/go]}`" in fault
    assert limit_faults({"environment.toolchains": ("~/.cargo",)}, own) == ()
    assert limit_faults({"environment.variables": {"NODE_ENV": "test"}}, {}) == ()


def test_a_repository_names_no_registry_of_the_person():
    mirror = (Registry(host="mirror.example.org", private=True),)
    asked = {"environment.registries": mirror}
    (fault,) = limit_faults(asked, {})
    assert fault.startswith("environment.registries: you do not say this yourself")
    assert limit_faults(asked, asked) == ()
    own = Layer(OWN, asked)
    assert combine((own,), KEYS).session.environment.registries == mirror


AGENTS = """
agents:
  developer: {usd: 8, stall_time: 1h, kinds: {docs: {usd: 1}}}
"""


def test_limits_of_agents_add_up_over_the_layers(tmp_path: Path):
    user = tmp_path / "user.yaml"
    user.write_text(f"version: 1\n{AGENTS}", "utf-8")
    (tmp_path / "blueflame.yaml").write_text(
        "version: 1\nagents: {developer: {usd: 7, effort: high, kinds: {tests: {time: 30m}}}}\n",
        "utf-8",
    )
    found = load_configuration(Sources(user=user, repository=tmp_path), KEYS)
    developer = found.session.agents.developer
    assert (developer.usd, developer.stall_time) == (7, timedelta(hours=1))
    assert (developer.time, developer.effort) == (timedelta(hours=2), "high")
    assert developer.kinds[TaskKind.DOCS].usd == 1
    assert developer.kinds[TaskKind.TESTS].time == timedelta(minutes=30)
    assert str(found.origins["agents.developer"]) == "blueflame.yaml:2"


@pytest.mark.parametrize(
    ("said", "own", "fault"),
    [
        ("{usd: 5, time: 2h, stall_time: 45m, effort: xhigh}", "{}", None),
        ("{usd: 8}", "{usd: 8}", None),
        ("{kinds: {code: {time: 2h}}}", "{}", None),
        ("{usd: 8}", "{}", "usd: 8 where 5 applies without this file: a repository cannot"),
        ("{time: 3h}", "{usd: 9}", "time: 3h where 2h applies"),
        ("{stall_time: 46m}", "{}", "stall_time: 46m where 45m applies"),
        ("{turns: 9}", "{turns: 8}", "turns: 9 where 8 applies"),
        ("{output_tokens: 16001}", "{}", "output_tokens: 16001 where 16000 applies"),
        ("{output_tokens: 9000}", "{output_tokens: 8000}", "output_tokens: 9000 where 8000"),
        ("{kinds: {docs: {usd: 5}}}", "{}", "kinds.docs.usd: 5 where 2 applies"),
        ("{kinds: {tests: {usd: 6}}}", "{}", "kinds.tests.usd: 6 where 5 applies"),
    ],
)
def test_a_repository_may_only_lower_limits_of_agents(said: str, own: str, fault: str | None):
    below = read_file(f"version: 1\nagents: {{developer: {own}}}", "own").value
    above = read_file(f"version: 1\nagents: {{developer: {said}}}", "found").value
    assert above.agents is not None
    assert above.agents.developer is not None
    assert below.agents is not None
    assert below.agents.developer is not None
    found = {"agents.developer": above.agents.developer.settings()}
    faults = limit_faults(found, {"agents.developer": below.agents.developer.settings()})
    assert len(faults) == (fault is not None)
    assert fault is None or faults[0].startswith(f"agents.developer: {fault}")


@pytest.mark.parametrize("key", CommandBounds.model_fields)
def test_a_repository_may_only_lower_what_a_command_may_use(key: str):
    name, most = f"environment.{key}", getattr(CommandBounds(), key)
    assert limit_faults({name: most}, {}) == ()
    assert limit_faults({name: most + 1}, {name: most + 1}) == ()
    (fault,) = limit_faults({name: most + 1}, {})
    assert fault.startswith(f"{name}: {most + 1} where {most} applies without this file")


def test_what_a_command_may_use_reaches_the_session():
    own = Layer(OWN, {"environment.memory_mb": 8_192, "environment.processes": 2_000})
    environment = combine((own,), KEYS).session.environment
    assert (environment.memory_mb, environment.processes) == (8_192, 2_000)
    assert environment.file_mb == CommandBounds().file_mb
