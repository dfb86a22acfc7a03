"""`workers.roles`: which role sees what of the environment."""

import pytest

from workers.roles import Role, UnknownRoleError, environment_for, parse_roles

ENVIRONMENT = {
    "PATH": "/bin",
    "HOME": "/home/p",
    "LC_ALL": "C.UTF-8",
    "BLUEFLAME_DATA_DIR": "/d",
    "TEMPORAL_ADDRESS": "h:1",
    "ANTHROPIC_API_KEY": "canary-a",
    "OPENAI_API_KEY": "canary-o",
    "GEMINI_API_KEY": "canary-g",
    "GOOGLE_API_KEY": "canary-h",
    "https_proxy": "http://p",
    "X_API_KEY": "canary-x",
    "GITHUB_TOKEN": "canary-t",
    "PYTHONPATH": "/evil",
    "LD_PRELOAD": "/evil.so",
    "GIT_DIR": "/evil",
}


@pytest.mark.parametrize("role", [Role.WORKFLOWS, Role.HOST, Role.LAND])
def test_no_key_reaches_a_role_that_speaks_to_no_model(role: Role) -> None:
    given = environment_for([role], ENVIRONMENT)
    assert not [name for name, value in given.items() if value.startswith("canary")]
    shared = {"PATH", "HOME", "LC_ALL", "BLUEFLAME_DATA_DIR", "TEMPORAL_ADDRESS"}
    assert set(given) == (shared if role is Role.WORKFLOWS else shared | {"https_proxy"})


def test_where_packages_are_reaches_the_hosts_alone() -> None:
    told = {"PIP_INDEX_URL": "x", "npm_config_registry": "x", "UV_INDEX": "x", "GOPROXY": "x"}
    assert environment_for([Role.HOST], told) == told
    for role in (Role.WORKFLOWS, Role.MODELS, Role.LAND):
        assert environment_for([role], told) == {}


def test_role_models_gets_the_providers_keys_and_no_other_secret() -> None:
    given = environment_for([Role.MODELS], ENVIRONMENT)
    keys = {"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"}
    assert keys | {"https_proxy"} <= set(given)
    assert not {"X_API_KEY", "GITHUB_TOKEN", "PYTHONPATH", "LD_PRELOAD", "GIT_DIR"} & set(given)


def test_the_key_of_a_compatible_server_reaches_role_models_alone() -> None:
    named = {"X_API_KEY", "LC_SECRET"}
    environment = ENVIRONMENT | {"LC_SECRET": "canary-l"}
    assert named <= set(environment_for([Role.MODELS], environment, named))
    for role in (Role.WORKFLOWS, Role.HOST, Role.LAND):
        given = environment_for([role], environment, named)
        assert not [name for name, value in given.items() if value.startswith("canary")]


def test_the_token_of_a_hosting_service_reaches_role_land_alone() -> None:
    tokens = {"GITHUB_TOKEN", "BLUEFLAME_MY_TOKEN"}
    environment = ENVIRONMENT | {"BLUEFLAME_MY_TOKEN": "canary-t"}
    given = environment_for([Role.LAND], environment, frozenset(), tokens)
    assert tokens | {"https_proxy"} <= set(given)
    assert "ANTHROPIC_API_KEY" not in given
    for role in (Role.WORKFLOWS, Role.HOST, Role.MODELS):
        assert not tokens & set(environment_for([role], environment, frozenset(), tokens))


def test_what_signs_commits_reaches_role_land_alone() -> None:
    agents = {"SSH_AUTH_SOCK": "/run/a", "GNUPGHOME": "/home/p/.gnupg"}
    assert environment_for([Role.LAND], agents) == agents
    for role in (Role.WORKFLOWS, Role.HOST):
        assert environment_for([role], agents) == {}


def test_roles_are_read_once_each_in_order() -> None:
    assert parse_roles("land, models,land") == (Role.LAND, Role.MODELS)


@pytest.mark.parametrize(
    ("text", "named"), [("", "no role"), (",", "no role"), ("host,Host", "'Host'")]
)
def test_an_unknown_role_is_named_with_those_that_exist(text: str, named: str) -> None:
    with pytest.raises(UnknownRoleError, match=f"{named}.*workflows, models, host, land"):
        parse_roles(text)
