"""Registries with credentials and a company's proxy: set-up gets packages, and never a token."""

import shutil
from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography import x509

from activities.ports.sandbox_port import (
    Limits,
    SandboxCommand,
    SandboxResult,
    SandboxUnavailableError,
    Workspace,
)
from tests.security.company import BASIC, PASSWORD, TOKEN, Company, company
from workflows.domain.environment import ProjectEnvironment, Registry

has_npm = pytest.mark.skipif(shutil.which("npm", path="/usr/bin") is None, reason="needs npm")
has_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
SECRETS = (PASSWORD, BASIC.removeprefix("Basic "), TOKEN, "proxy-secret")


@pytest.fixture
async def world(tmp_path: Path) -> AsyncGenerator[Company]:
    async with company(tmp_path) as made:
        yield made


async def run(
    world: Company, tmp_path: Path, script: str, told: ProjectEnvironment | None = None
) -> SandboxResult:
    environment = told or world.environment()
    tree = tmp_path / "tree"
    tree.mkdir(exist_ok=True)
    command = SandboxCommand(
        argv=("bash", "-ec", script),
        workspace=Workspace(path=tree, environment=environment),
        env=(("TOP", f"https://{world.place}"), ("PLACE", world.place)),
        limits=Limits(timeout=timedelta(seconds=100)),
        network=world.network,
    )
    ran = await world.sandbox(environment).run(command)
    said = ran.output.decode() + " ".join(ran.refusals)
    assert not [each for each in SECRETS if each in said], "a credential is told to set-up"
    return ran


@pytest.mark.slow
async def test_pip_installs_from_a_private_registry_that_wants_a_login(
    world: Company, tmp_path: Path
):
    script = (
        "python3 -m venv v; v/bin/pip -q --disable-pip-version-check install inhouse\n"
        "v/bin/python -c 'import inhouse; print(inhouse.WHO)'"
    )
    ran = await run(world, tmp_path, script)
    assert (ran.code, ran.output, ran.refusals) == (0, b"us\n", ())
    assert [each.split()[1][:7] for each in world.seen] == ["/simple", "/files/"]
    assert all(f"Authorization: {BASIC}\r\n" in each for each in world.seen)


@has_npm
async def test_npm_installs_from_a_private_registry_that_wants_a_token(
    world: Company, tmp_path: Path
):
    script = "npm install --no-audit --no-fund inhouse >log 2>&1 || cat log; ls node_modules"
    ran = await run(world, tmp_path, script, world.environment("npm"))
    assert (ran.code, ran.output, ran.refusals) == (0, b"inhouse\n", ())


@pytest.mark.slow
async def test_through_an_upstream_proxy_that_wants_a_login(world: Company, tmp_path: Path):
    script = "python3 -m venv v; v/bin/pip -q --disable-pip-version-check install inhouse; echo ok"
    ran = await run(world, tmp_path, script, world.environment(proxied=True))
    assert (ran.code, ran.output, ran.refusals) == (0, b"ok\n", ())
    assert {each.split("\r\n")[0] for each in world.through} == {f"CONNECT {world.place} HTTP/1.1"}


@has_curl
async def test_an_upstream_proxy_that_is_not_told_who_asks_says_what_to_do(
    world: Company, tmp_path: Path
):
    world.write_settings(proxy_login=False)
    ran = await run(world, tmp_path, "curl -sS $TOP/", world.environment(None, proxied=True))
    (refusal,) = ran.refusals
    assert "wants a name and a password (407): put them into your ~/.netrc" in refusal


# ------------------------------------------------------------------------------------ attacks


async def test_no_credential_is_in_the_environment_or_a_file_of_set_up(
    world: Company, tmp_path: Path
):
    script = (
        "env; cat /etc/registries/* /proc/self/environ /proc/1/cmdline /proc/1/environ; "
        "ls -l /proc/1/fd /proc/self/fd; cat /.cargo/* 2>/dev/null || true"
    )
    ran = await run(world, tmp_path, script)
    assert f"PIP_INDEX_URL=https://{world.place}/simple\n".encode() in ran.output
    assert b"PRIVATE KEY" not in ran.output


@has_curl
async def test_a_redirect_does_not_take_the_token_along(world: Company, tmp_path: Path):
    ran = await run(world, tmp_path, "curl -sS -L --location-trusted -u a:b $TOP/away")
    assert ran.output == b"ok"
    assert BASIC in world.seen[0]
    assert len(world.elsewhere) == 1
    assert not [each for each in SECRETS if each in world.elsewhere[0]]


@has_curl
async def test_a_registry_that_repeats_what_it_was_told_does_not_tell_set_up(
    world: Company, tmp_path: Path
):
    ran = await run(world, tmp_path, "curl -sS $TOP/echo")
    assert f"Authorization: {'*' * len(BASIC)}".encode() in ran.output


@has_curl
@pytest.mark.parametrize(
    "request_",
    [
        "-H 'Host: other.example.org' $TOP/echo",
        "-H 'Host: ' $TOP/echo",
        "-X POST -d x $TOP/echo",
        "-X PUT $TOP/echo",
        "-X DELETE $TOP/echo",
        "-X GET -H 'Transfer-Encoding: chunked' -d x $TOP/echo",
        "--request-target https://other.example.org/ $TOP/echo",
        r"-H $'A: b\rAuthorization: Basic eA==' $TOP/echo",
    ],
)
async def test_a_request_that_would_do_more_than_read_the_registry_is_not_passed_on(
    world: Company, tmp_path: Path, request_: str
):
    ran = await run(world, tmp_path, f"curl -sS {request_}")
    assert world.seen == []
    assert ran.output.startswith(b"blueflame: ")
    assert len(ran.refusals) == 1


@has_curl
async def test_what_set_up_says_of_itself_is_replaced(world: Company, tmp_path: Path):
    script = "curl -sS -u evil:evil -b a=b -H 'Proxy-Authorization: x' $TOP/echo"
    await run(world, tmp_path, script)
    (head,) = world.seen
    assert head.lower().count("authorization") == 1
    assert "cookie" not in head.lower()


async def test_the_authority_of_a_command_vouches_for_no_other_host(world: Company, tmp_path: Path):
    ran = await run(world, tmp_path, "cat /etc/registries/*.pem")
    last = ran.output.rpartition(b"-----BEGIN")
    own = x509.load_pem_x509_certificate(b"-----BEGIN" + last[2])
    permitted = own.extensions.get_extension_for_class(x509.NameConstraints)
    assert permitted.critical
    names = [each.value for each in permitted.value.permitted_subtrees or ()]
    assert names == [world.place.partition(":")[0]]


@has_curl
async def test_a_registry_whose_certificate_no_one_vouches_for_gets_no_token(
    world: Company, tmp_path: Path
):
    told = ProjectEnvironment(
        registries=(Registry(host=world.place, private=True, token_from="pip"),)
    )
    ran = await run(world, tmp_path, "curl -sS $TOP/echo", told)
    (refusal,) = ran.refusals
    assert "is not trusted" in refusal
    assert "name your company's certificates by 'environment.ca_file'" in refusal
    assert world.seen == []


@has_curl
@pytest.mark.parametrize("address", ["169.254.169.254", "fd00:ec2::254", "0.0.0.0"])
async def test_a_registry_that_leads_to_metadata_is_told_nothing(
    world: Company, tmp_path: Path, address: str
):
    world.address = address
    ran = await run(world, tmp_path, "curl -sS $TOP/echo")
    assert b"even a private registry is never reached there" in ran.output
    assert len(ran.refusals) == 1


@pytest.mark.parametrize(
    "asked",
    [
        ProjectEnvironment(registries=(Registry(host="intranet.example.org", private=True),)),
        ProjectEnvironment(upstream_proxy="http://evil.example.org:3128"),
        ProjectEnvironment(ca_file="/etc/passwd"),
        ProjectEnvironment(no_proxy=("evil.example.org",)),
    ],
)
async def test_a_session_opens_nothing_that_its_host_was_not_told_of(
    world: Company, tmp_path: Path, asked: ProjectEnvironment
):
    tree = tmp_path / "tree"
    tree.mkdir()
    command = SandboxCommand(
        argv=("true",), workspace=Workspace(path=tree, environment=asked), network=world.network
    )
    with pytest.raises(SandboxUnavailableError, match="started without"):
        await world.sandbox(world.environment()).run(command)


async def test_missing_credentials_are_told_before_anything_runs(world: Company, tmp_path: Path):
    with pytest.raises(SandboxUnavailableError, match="settings of cargo hold no credentials"):
        await run(world, tmp_path, "touch ran", world.environment("cargo"))
    assert not (tmp_path / "tree" / "ran").exists()


@has_curl
async def test_without_a_network_set_up_is_told_of_no_registry(world: Company, tmp_path: Path):
    tree = tmp_path / "tree"
    tree.mkdir()
    environment = world.environment()
    command = SandboxCommand(
        argv=("bash", "-c", "env; ls /etc"),
        workspace=Workspace(path=tree, environment=environment),
    )
    ran = await world.sandbox(environment).run(command)
    assert b"registries" not in ran.output
    assert b"PIP_INDEX_URL" not in ran.output
