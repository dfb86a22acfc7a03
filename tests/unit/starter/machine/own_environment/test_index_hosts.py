from pathlib import Path

import pytest

from activities.projects.proposal import Proposal, ToolchainNeed
from starter.machine.own_environment.index_hosts import index_hosts
from starter.machine.own_environment.own_lines import own_lines


def test_index_hosts_come_from_the_persons_settings_without_secrets(tmp_path: Path):
    (tmp_path / ".config" / "pip").mkdir(parents=True)
    (tmp_path / ".config" / "pip" / "pip.conf").write_text(
        "[global]\nindex-url = https://me:hunter2@mirror.example:8443/simple\n"
        "# index-url = https://old.example/\n"
    )
    (tmp_path / ".npmrc").write_text(
        "registry=https://npm.example/\n//npm.example/:_authToken=hunter2\n"
    )
    variables = {"PIP_EXTRA_INDEX_URL": "https://one.example/ https://two.example:443/x"}
    assert index_hosts("npm", tmp_path, {}) == ("npm.example",)
    found = index_hosts("pip", tmp_path, variables)
    assert [each for each in found if each.endswith("example") or "8443" in each] == [
        "one.example",
        "two.example",
        "mirror.example:8443",
    ]
    assert "hunter2" not in str(found)
    assert index_hosts("hex", tmp_path, {}) == ()


def test_an_address_that_is_none_names_no_host(tmp_path: Path):
    assert index_hosts("go", tmp_path, {"GOPROXY": "https://[::x/ off,https://a:b/,direct"}) == ()


def test_missing_settings_are_printed_as_lines_to_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / ".pyenv" / "versions" / "3.12.8" / "bin").mkdir(parents=True)
    for name in ("REQUESTS_CA_BUNDLE", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CERT", "/nonexistent")  # over what this machine's pip.conf says
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GOPROXY", "https://go.example")
    need = ToolchainNeed(language="python", version="3.12", evidence="x")
    assert own_lines(Proposal(needs=(need,), indexes=("go", "hex"))) == (
        'environment: {toolchains: ["~/.pyenv/versions/3.12.8"]}\n'
        "worktree: {network: [go.example]}  # add the hosts from which hex takes packages"
    )
    assert own_lines(Proposal()) == ""
