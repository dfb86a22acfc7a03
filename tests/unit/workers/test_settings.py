"""`workers.settings`: what is read, and what another process of ours is told."""

from pathlib import Path

import pytest
from pydantic import SecretStr, ValidationError

from workers.provider_wiring import provider_settings
from workers.settings import Settings


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "BLUEFLAME_DATA_DIR",
        "BLUEFLAME_PLAYBOOK",
        "BLUEFLAME_PROVIDERS",
        *("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"),
    ):
        monkeypatch.delenv(name, raising=False)


def test_a_relative_data_directory_is_made_absolute() -> None:
    assert Settings(data_dir=Path("here")).data_dir == Path.cwd() / "here"


def test_only_temporal_variables_with_a_value_are_kept() -> None:
    settings = Settings.read({"TEMPORAL_ADDRESS": "h:1", "TEMPORAL_API_KEY": "", "PATH": "/bin"})
    assert settings.temporal == {"TEMPORAL_ADDRESS": "h:1"}
    assert settings.has_external_server


def test_a_namespace_alone_names_no_server() -> None:
    assert not Settings.read({"TEMPORAL_NAMESPACE": "mine"}).has_external_server


def test_a_key_never_shows() -> None:
    settings = Settings.model_validate({"ANTHROPIC_API_KEY": "canary-1"})
    assert "canary-1" not in repr(settings)
    assert "canary-1" not in settings.model_dump_json()


def test_temporal_secrets_never_show() -> None:
    assert "canary-2" not in repr(Settings.read({"TEMPORAL_API_KEY": "canary-2"}))


def test_another_process_reads_the_same_places(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(data_dir=Path("/d"), playbook=Path("/p.yaml"), host_uid=7, sandbox="none")
    for name, value in settings.as_environment().items():
        monkeypatch.setenv(name, value)
    again = Settings.read({})
    assert again.as_environment() == settings.as_environment()
    assert (again.data_dir, again.playbook, again.host_uid) == (Path("/d"), Path("/p.yaml"), 7)


PROVIDERS = """{
    "gateway": {"base_url": "https://gateway.example/v1", "key": "GATEWAY_KEY", "timeout_s": 60},
    "local": {"base_url": "http://127.0.0.1:11434/v1"},
    "anthropic": {"timeout_s": 300}
}"""


def test_the_keys_of_compatible_servers_are_read_and_never_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("BLUEFLAME_PROVIDERS", PROVIDERS)
    settings = Settings.read({"GATEWAY_KEY": "canary-3", "OTHER_KEY": "canary-4"})
    assert settings.key_variables == {"GATEWAY_KEY"}
    given = provider_settings(settings)
    assert [(name, key) for name, key in given.keys.items()] == [("gateway", SecretStr("canary-3"))]
    assert given.entries["anthropic"].timeout_s == 300
    shown = f"{settings!r} {settings.model_dump_json()} {settings.as_environment()}"
    assert "canary" not in shown


def test_another_process_knows_the_same_providers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLUEFLAME_PROVIDERS", PROVIDERS)
    settings = Settings.read({})
    monkeypatch.setenv("BLUEFLAME_PROVIDERS", settings.as_environment()["BLUEFLAME_PROVIDERS"])
    assert Settings.read({}).providers == settings.providers
    assert len(settings.providers) == 3


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ('"x": {}', "provider 'x' needs a base_url"),
        ('"openai": {"base_url": "http://h/v1"}', "provider 'openai' is built in"),
        ('"x": {"base_url": "h/v1"}', "an address is written as https://host/v1"),
        ('"x": {"base_url": "http://me:pw@h/v1"}', "an address holds no user and no password"),
        ('"x": {"base_url": "http://h/v1", "key": "sk-canary-5"}', "the environment variable that"),
        ('"x": {"base_url": "http://h/v1", "timeout_s": 1081}', "less than or equal to 1080"),
        ('"X": {"base_url": "http://h/v1"}', "String should match pattern"),
    ],
)
def test_a_provider_that_cannot_be(entry: str, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLUEFLAME_PROVIDERS", f"{{{entry}}}")
    with pytest.raises(ValidationError, match=why) as caught:
        Settings.read({})
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize("port", ["-1", "65536", "http"])
def test_a_port_that_is_none_is_refused(port: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLUEFLAME_UI_PORT", port)
    with pytest.raises(ValidationError, match="ui_port"):
        Settings.read({})
