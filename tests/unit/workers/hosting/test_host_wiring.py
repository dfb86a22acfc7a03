"""`workers.hosting.host_wiring`: what a host is made of."""

from pathlib import Path

from activities.adapters.sandbox.bubblewrap import BubblewrapSandbox
from activities.adapters.sandbox.egress.egress_proxy import Outside, resolve
from workers.hosting.host_wiring import make_host
from workers.settings import Settings
from workflows.policy.network.public_addresses import address_fault


def test_set_up_reaches_what_the_policy_says_by_the_systems_resolver(tmp_path: Path):
    settings = Settings(data_dir=tmp_path)
    settings.host_dir.mkdir(parents=True)
    sandbox = make_host(settings).sandbox
    assert isinstance(sandbox, BubblewrapSandbox)
    assert sandbox.outside == Outside(resolve, address_fault)
