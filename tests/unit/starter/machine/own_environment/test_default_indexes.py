"""`starter.machine.own_environment.default_indexes`: hosts that the tools themselves name."""

import shutil

import pytest

from starter.machine.own_environment.default_indexes import default_hosts
from workflows.policy.network.host_list import entry_fault


def test_a_pythons_own_pip_says_where_it_finds_packages():
    hosts = default_hosts("pip")
    assert all(entry_fault(each) is None for each in hosts)
    assert len(hosts) in {0, 2}


@pytest.mark.skipif(shutil.which("npm") is None, reason="needs npm")
def test_an_installed_npm_says_where_it_finds_packages():
    (host,) = default_hosts("npm")
    assert entry_fault(host) is None


def test_other_tools_are_not_asked():
    assert default_hosts("hex") == ()
