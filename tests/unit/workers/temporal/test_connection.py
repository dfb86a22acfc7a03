"""`workers.temporal.connection`: which server, and what is said where there is none."""

from collections.abc import Generator
from datetime import timedelta
from pathlib import Path

import pytest

from tests.ports import kept_port
from tests.waiting import PATIENCE
from workers.atomic_file import replace_text
from workers.settings import Settings
from workers.temporal.connection import ServerAddress, connect, server_file, target
from workers.temporal.temporal_errors import NoServerError, TemporalUnavailableError


def test_without_a_server_it_says_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(NoServerError, match="`blueflame up --detach` starts"):
        target(Settings(data_dir=tmp_path))


def test_the_bundled_servers_address_is_read(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    address = ServerAddress(address="127.0.0.1:9", ui="http://127.0.0.1:10")
    replace_text(server_file(settings), address.model_dump_json())
    assert target(settings) == "127.0.0.1:9"


def test_a_supervisors_word_goes_first(tmp_path: Path) -> None:
    assert target(Settings(data_dir=tmp_path, server="127.0.0.1:8")) == "127.0.0.1:8"


def test_a_named_server_goes_before_the_bundled_one(tmp_path: Path) -> None:
    settings = Settings(
        data_dir=tmp_path, server="127.0.0.1:8", temporal={"TEMPORAL_ADDRESS": "t.example:7233"}
    )
    assert target(settings) == "t.example:7233"


def test_a_profile_names_a_server(tmp_path: Path) -> None:
    (tmp_path / "temporal.toml").write_text('[profile.far]\naddress = "far.example:7233"\n')
    variables = {"TEMPORAL_PROFILE": "far", "TEMPORAL_CONFIG_FILE": str(tmp_path / "temporal.toml")}
    assert target(Settings(data_dir=tmp_path, temporal=variables)) == "far.example:7233"


def test_a_profile_that_is_not_there_is_named(tmp_path: Path) -> None:
    (tmp_path / "temporal.toml").write_text('[profile.far]\naddress = "far.example:7233"\n')
    variables = {
        "TEMPORAL_PROFILE": "near",
        "TEMPORAL_CONFIG_FILE": str(tmp_path / "temporal.toml"),
    }
    with pytest.raises(TemporalUnavailableError, match="'near'"):
        target(Settings(data_dir=tmp_path, temporal=variables))


async def test_a_server_that_is_away_is_named_with_the_reason(tmp_path: Path) -> None:
    with kept_port() as port:
        address = f"127.0.0.1:{port}"
        away = Settings(data_dir=tmp_path, temporal={"TEMPORAL_ADDRESS": address})
        why = f"'{address}' does not answer.*refused.*check"
        with pytest.raises(TemporalUnavailableError, match=why):
            await connect(away, timedelta(seconds=PATIENCE))


@pytest.fixture
def away(tmp_path: Path) -> Generator[Settings]:
    """Settings of a bundled server that does not run."""
    with kept_port() as port:
        settings = Settings(data_dir=tmp_path)
        address = ServerAddress(
            address=f"127.0.0.1:{port}", ui="http://127.0.0.1:10", playbook="/a b/play.yaml"
        )
        server_file(settings).write_text(address.model_dump_json())
        settings.logs_dir.mkdir()
        yield settings


async def test_g57_the_bundled_server_is_started_again_with_its_playbook(away: Settings) -> None:
    with pytest.raises(
        TemporalUnavailableError, match=r"`blueflame up --detach --playbook '/a b/play.yaml'`"
    ):
        await connect(away, timedelta(seconds=PATIENCE))


async def test_g54_a_server_that_cannot_use_its_database_names_it(away: Settings) -> None:
    said = "Error: failed starting server: file is not a database (26)\n"
    (away.logs_dir / "temporal.log").write_text(said)
    with pytest.raises(TemporalUnavailableError, match=r"temporal\.db' is damaged\. Put a backup"):
        await connect(away, timedelta(seconds=PATIENCE))
