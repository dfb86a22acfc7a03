"""`workers.settings`: what is read, and what another process of ours is told."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from workers.settings import Settings


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BLUEFLAME_DATA_DIR", "BLUEFLAME_PLAYBOOK", "ANTHROPIC_API_KEY"):
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


@pytest.mark.parametrize("port", ["-1", "65536", "http"])
def test_a_port_that_is_none_is_refused(port: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLUEFLAME_UI_PORT", port)
    with pytest.raises(ValidationError, match="ui_port"):
        Settings.read({})
