"""`starter.machine.own_environment.index_access`: lines for the indexes that a person uses."""

from pathlib import Path

from starter.machine.own_environment.index_access import access_lines, index_places
from workers.hosting.registry_settings.setting_files import Person


def _person(home: Path, **variables: str) -> Person:
    return Person(home, variables, home / "etc")


def test_directories_of_packages_are_places_to_show(tmp_path: Path):
    for name in ("index/simple", "wheels"):
        (tmp_path / name).mkdir(parents=True)
    person = _person(
        tmp_path,
        PIP_EXTRA_INDEX_URL=f"file://{tmp_path}/index/simple https://a.example/simple",
        PIP_FIND_LINKS=f"{tmp_path}/wheels {tmp_path}/gone",
    )
    assert index_places("pip", person) == [f"{tmp_path}/index", f"{tmp_path}/wheels"]
    assert index_places("npm", person) == []


def test_logins_certificates_and_the_proxy_are_proposed_without_what_is_secret(tmp_path: Path):
    (tmp_path / "ca.pem").touch()
    person = _person(
        tmp_path,
        PIP_INDEX_URL="https://me:hunter2@mirror.invalid:8443/simple",
        HTTPS_PROXY="http://me:hunter2@proxy.invalid:3128",
        SSL_CERT_FILE=f"{tmp_path}/ca.pem",
    )
    assert access_lines(["mirror.invalid:8443", "other.invalid"], ["pip"], person) == {
        "registries": [{"host": "mirror.invalid:8443", "token_from": "pip"}],
        "upstream_proxy": "http://proxy.invalid:3128",
        "ca_file": f"{tmp_path}/ca.pem",
    }


def test_nothing_is_proposed_where_nothing_is_needed(tmp_path: Path):
    assert access_lines(["other.invalid"], ["pip"], _person(tmp_path)) == {}
