"""Settings of this machine's processes with what the person's own file adds."""

from pathlib import Path

import pytest

from activities.ports.land.hosting_entries import HostingEntry
from starter.configuration.configuration_errors import ConfigurationError
from starter.machine.own_settings import with_hosting
from workers.settings import Settings

ENTRY = HostingEntry(repositories=("*",), api="gitlab")


def test_a_host_of_the_environment_overrides_the_same_host_of_the_file(tmp_path: Path):
    own = HostingEntry(repositories=("a/b",), api="gitlab")
    settings = Settings(data_dir=tmp_path, hosting={"one.example": ENTRY})
    assert with_hosting(settings, {"one.example": own}).hosting == {"one.example": ENTRY}


def test_a_host_of_the_environment_does_not_get_the_token_of_the_files_host(tmp_path: Path):
    settings = Settings(data_dir=tmp_path, hosting={"two.example": ENTRY})
    told = "BLUEFLAME_HOSTING together: hosts 'one.example' and 'two.example' would both"
    with pytest.raises(ConfigurationError, match=told):
        with_hosting(settings, {"one.example": ENTRY})
