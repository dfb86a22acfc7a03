"""`workers.hosting.registry_settings`: what set-up is told of indexes, and never of credentials."""

from pathlib import Path

import pytest

from activities.ports.registry_access import ReachableRegistries
from workers.hosting.registry_settings.person_settings import read_tool_settings
from workers.hosting.registry_settings.setting_files import Person, bare, place_of
from workers.hosting.told_registries import hand_over, told_registries
from workers.settings import Settings
from workflows.domain.environment import Registry, RegistryAccess, TokenSource

SECRET = "hunter2-hunter2"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    files = {
        ".config/pip/pip.conf": f"[global]\nindex-url = https://me:{SECRET}@pip.example/simple\n"
        "extra-index-url = file:///opt/index/simple\n    https://two.example/simple\n"
        f"find-links = /srv/packages\nconstraint = {tmp_path}/limits.txt\n",
        "limits.txt": f"a @ https://me:{SECRET}@pip.example/a.whl\nb<2\n",
        ".config/uv/uv.toml": '[[index]]\nname = "corp"\n'
        f'url = "https://me:{SECRET}@uv.example/simple"\n'
        '[[index]]\nurl = "https://all.example/simple"\ndefault = true\n',
        ".npmrc": "; registry=https://old.example/\nregistry = https://npm.example/all/\n"
        "@corp:registry=https://scope.example/\nsave-exact=true\n"
        f"//npm.example/all/:_authToken=${{TOKEN}}\n//scope.example/:_authToken={SECRET}-2\n",
        ".cargo/config.toml": '[source.crates-io]\nreplace-with = "corp"\n[source.corp]\n'
        f'registry = "sparse+https://me:{SECRET}@cargo.example/index/"\n'
        '[registries.corp]\nindex = "sparse+https://cargo.example/index/"\n'
        f'token = "{SECRET}"\n[build]\nrustc-wrapper = "evil"\n',
        ".cargo/credentials.toml": f'[registries.corp]\ntoken = "Bearer {SECRET}"\n',
        ".config/go/env": f"GOPROXY=https://me:{SECRET}@go.example,direct\nGOFLAGS=-mod=mod\n",
        ".m2/settings.xml": "<settings><!-- <mirror><id>x</id></mirror> --><mirrors><mirror>"
        "<id>corp</id><mirrorOf>*</mirrorOf><url>https://mvn.example/all</url></mirror></mirrors>"
        f"<servers><server><password>{SECRET}</password></server></servers></settings>",
        ".netrc": f"machine net.example login me password {SECRET}\n",
        "ca.pem": "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"
        "-----BEGIN CERTIFICATE-----\nBBBB\n-----END CERTIFICATE-----\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def person(home: Path, **variables: str) -> Person:
    return Person(home, variables, home / "etc")


def test_set_up_is_told_of_indexes_without_credentials(home: Path):
    found = read_tool_settings(RegistryAccess(), person(home, TOKEN=SECRET))
    told = ReachableRegistries(tools=found).variables((Path("/opt/index"),))
    assert told == {
        "PIP_INDEX_URL": "https://pip.example/simple",
        "PIP_EXTRA_INDEX_URL": "file:///opt/index/simple https://two.example/simple",
        "PIP_CONSTRAINT": "/etc/registries/constraints-0.txt",
        "UV_INDEX": "corp=https://uv.example/simple",
        "UV_DEFAULT_INDEX": "https://all.example/simple",
        "npm_config_userconfig": "/etc/registries/npmrc",
        "GOPROXY": "https://go.example,direct",
        "MAVEN_ARGS": "-s /etc/registries/settings.xml",
    }
    assert found.files["/etc/registries/npmrc"] == (
        "registry=https://npm.example/all/\n@corp:registry=https://scope.example/\n"
    )
    assert found.files["/.cargo/config.toml"] == (
        '[source."crates-io"]\nreplace-with = "corp"\n[source."corp"]\n'
        'registry = "sparse+https://cargo.example/index/"\n'
        '[registries."corp"]\nindex = "sparse+https://cargo.example/index/"\n'
    )
    maven = found.files["/etc/registries/settings.xml"]
    assert "<mirror><id>corp</id><mirrorOf>*</mirrorOf><url>https://mvn.example/all</url>" in maven
    assert "<host>127.0.0.1</host><port>3128</port>" in maven
    assert SECRET not in found.model_dump_json()


def test_a_local_index_that_is_not_shown_is_left_out(home: Path):
    found = read_tool_settings(RegistryAccess(), person(home))
    assert "PIP_FIND_LINKS" not in ReachableRegistries(tools=found).variables(())
    shown = ReachableRegistries(tools=found).variables((Path("/srv/packages"),))
    assert shown["PIP_FIND_LINKS"] == "/srv/packages"


def test_a_variable_goes_before_a_file(home: Path):
    given = {"PIP_INDEX_URL": "https://v.example/", "UV_FIND_LINKS": "https://a/,https://b/"}
    found = read_tool_settings(RegistryAccess(), person(home, **given))
    told = ReachableRegistries(tools=found).variables(())
    assert told["PIP_INDEX_URL"] == "https://v.example/"
    assert told["UV_FIND_LINKS"] == "https://a/,https://b/"


@pytest.mark.parametrize(
    ("source", "host", "authorization"),
    [
        ("pip", "pip.example", "Basic bWU6aHVudGVyMi1odW50ZXIy"),
        ("uv", "uv.example", "Basic bWU6aHVudGVyMi1odW50ZXIy"),
        ("npm", "npm.example", f"Bearer {SECRET}"),
        ("npm", "scope.example", f"Bearer {SECRET}-2"),
        ("cargo", "cargo.example", f"Bearer {SECRET}"),
        ("netrc", "net.example", "Basic bWU6aHVudGVyMi1odW50ZXIy"),
    ],
)
def test_credentials_are_those_of_the_tool_that_the_configuration_names(
    home: Path, source: TokenSource, host: str, authorization: str
):
    access = RegistryAccess(registries=(Registry(host=host, token_from=source),))
    found = read_tool_settings(access, person(home, TOKEN=SECRET))
    credential = ReachableRegistries(access, tools=found).credential(host, 443)
    assert credential is not None
    assert credential.authorization == authorization
    assert SECRET not in repr(found)
    assert ReachableRegistries(access, tools=found).credential(host, 80) is None


def test_only_certificates_of_the_file_are_shown(home: Path):
    found = read_tool_settings(RegistryAccess(ca_file=f"{home}/ca.pem"), person(home))
    assert found.authorities == "-----BEGIN CERTIFICATE-----\nBBBB\n-----END CERTIFICATE-----\n"
    for name in ("gone.pem", "limits.txt"):
        found = read_tool_settings(RegistryAccess(ca_file=f"{home}/{name}"), person(home))
        assert "holds no certificate in PEM form" in found.fault


def test_the_upstream_proxys_login_is_that_of_its_variable_or_the_netrc(home: Path):
    by_variable = RegistryAccess(upstream_proxy="http://up.example:3128")
    given = {"HTTPS_PROXY": f"http://you:{SECRET}@up.example:3128"}
    assert read_tool_settings(by_variable, person(home, **given)).proxy_authorization
    assert not read_tool_settings(by_variable, person(home)).proxy_authorization
    by_netrc = RegistryAccess(upstream_proxy="http://net.example:3128")
    assert read_tool_settings(by_netrc, person(home)).proxy_authorization


@pytest.mark.parametrize("text", ["https://[x/", "https://a:b/", "direct", "", "git://a/"])
def test_what_is_no_address_of_the_web_has_no_place(text: str):
    assert place_of(text) is None
    assert bare(text) == text


def test_settings_read_as_root_are_handed_over_in_memory(home: Path):
    access = RegistryAccess(registries=(Registry(host="pip.example", token_from="pip"),))
    found = read_tool_settings(access, person(home))
    settings = Settings(data_dir=home, registries=access, tool_settings_fd=hand_over(found))
    reachable = told_registries(settings).wanted(access)
    assert reachable.tools == found
    assert SECRET not in str(settings.as_environment())
