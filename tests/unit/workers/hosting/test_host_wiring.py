"""`workers.hosting.host_wiring`: what a host is made of."""

import json
import os
from pathlib import Path

import pytest

from activities.adapters.git.bare_repository import Layout
from activities.adapters.git.base_transfer import identity
from activities.adapters.sandbox.bubblewrap import BubblewrapSandbox
from activities.adapters.sandbox.egress.egress_proxy import Outside, resolve
from activities.base_import import OwnPlace
from activities.ports.registry_access import Registries, RegistryError
from activities.ports.user_repository import HandOver
from workers.hosting.host_wiring import make_host, own_places
from workers.hosting.told_registries import own_ports, told_registries
from workers.settings import Settings
from workflows.domain.environment import Registry, RegistryAccess
from workflows.policy.network.public_addresses import address_fault, private_address_fault


def test_set_up_reaches_what_the_policy_says_by_the_systems_resolver(tmp_path: Path):
    settings = Settings(data_dir=tmp_path)
    settings.host_dir.mkdir(parents=True)
    sandbox = make_host(settings).sandbox
    assert isinstance(sandbox, BubblewrapSandbox)
    told = Registries(RegistryAccess(), frozenset({7233, 8233}))
    assert sandbox.outside == Outside(resolve, address_fault, private_address_fault, told)


def test_a_host_serves_the_registries_that_its_process_was_told_of(tmp_path: Path):
    mirror = Registry(host="mirror.example.org", private=True)
    settings = Settings(data_dir=tmp_path, registries=RegistryAccess(registries=(mirror,)))
    assert json.loads(settings.as_environment()["BLUEFLAME_REGISTRIES"]) == {
        "registries": [{"host": "mirror.example.org", "private": True}]
    }
    registries = told_registries(settings)
    assert registries.wanted(settings.registries).is_private("mirror.example.org", 443)
    other = RegistryAccess(registries=(Registry(host="other.example.org", private=True),))
    with pytest.raises(RegistryError, match=r"registry 'other\.example\.org' is not known to the"):
        registries.wanted(other)


def test_the_ports_of_the_orchestrator_are_known(tmp_path: Path):
    temporal = {"TEMPORAL_ADDRESS": "temporal.example.org:7000"}
    settings = Settings(data_dir=tmp_path, temporal=temporal, server="127.0.0.1:4001", ui_port=0)
    assert own_ports(settings) == {7000, 4001, 7233}


@pytest.mark.root
def test_root_hands_packs_over_to_the_host_and_to_no_one_else(tmp_path: Path):
    settings = Settings(data_dir=tmp_path, host_uid=4321, host_gid=4321)
    bare = Layout(settings.host_dir, "k" * 32).bare
    (bare / "objects" / "pack").mkdir(parents=True)
    assert own_places(settings)("k" * 32) is None
    os.chown(bare, 4321, 4321)
    found = own_places(settings)("k" * 32)
    handing = HandOver(tmp_path, tmp_path / "incoming", 4321, 4321)
    assert found == OwnPlace(bare, str(identity(bare)), handing)
    bare.rename(tmp_path / "elsewhere")
    bare.symlink_to(tmp_path / "elsewhere")
    assert own_places(settings)("k" * 32) is None
