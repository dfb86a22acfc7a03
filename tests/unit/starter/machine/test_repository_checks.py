"""`starter.machine.repository_checks`: the keys that a session would need, and the gates."""

from pathlib import Path

import pytest

from activities.ports.endpoints import ProviderEntry
from starter.machine.machine_checks import Check
from starter.machine.repository_checks import absence, repository_checks
from tests.e2e.processes import repository
from tests.unit.activities.adapters.git.home import plain_git
from workers.settings import Settings

ANTHROPIC, OPENAI = {"ANTHROPIC_API_KEY": "a"}, {"OPENAI_API_KEY": "b"}
MODELS = "models: {planner: [%s], developer: [%s], reviewer: [%s]}\n"
TWO = MODELS % ("anthropic/x", "anthropic/x", "openai/y")


@pytest.fixture(autouse=True)
def _no_configuration_of_the_persons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))


async def checked(
    repo: Path, environment: dict[str, str], **providers: ProviderEntry
) -> dict[str, Check]:
    settings = Settings(data_dir=repo.parent / "data", providers=providers)
    return {check.name: check for check in await repository_checks(repo, environment, settings)}


@pytest.mark.parametrize(
    ("models", "keys", "state", "words"),
    [
        ("", {}, "missing", "Three ways to get one:\n  1. set a provider's key"),
        ("", ANTHROPIC, "well", "ANTHROPIC_API_KEY (set"),
        ("", ANTHROPIC | OPENAI, "well", "ANTHROPIC_API_KEY, OPENAI_API_KEY"),
        (TWO, ANTHROPIC, "missing", "set OPENAI_API_KEY for openai/y"),
        (TWO, ANTHROPIC | OPENAI, "well", "`models test` tries them"),
        (TWO, {}, "missing", "OPENAI_API_KEY for openai/y"),
        (MODELS % ("scripted/a", "scripted/a", "scripted/b"), {}, "well", "none is needed"),
        ("modles: {}\n", ANTHROPIC, "missing", "blueflame.yaml:2:1"),
    ],
)
async def test_the_keys_that_the_models_need(
    tmp_path: Path,
    models: str,
    keys: dict[str, str],
    state: str,
    words: str,
) -> None:
    repo = repository(tmp_path / "r", {"blueflame.yaml": f"version: 1\n{models}"})
    found = (await checked(repo, keys))["keys"]
    assert (found.state, words in found.text) == (state, True), found.text


LOCAL = "providers: {local: {base_url: 'http://127.0.0.1:11434/v1'}}"
GATEWAY = "providers: {local: {base_url: 'https://gateway.example/v1', key: GATEWAY_KEY}}"
OWN = MODELS % ("local/x", "local/x", "scripted/y")


@pytest.mark.parametrize(
    ("described", "keys", "state", "words"),
    [
        (LOCAL, {}, "well", "none is needed: your own servers want none"),
        (GATEWAY, {}, "missing", "set GATEWAY_KEY for local/x"),
        (GATEWAY, {"GATEWAY_KEY": "canary"}, "well", "GATEWAY_KEY (set; "),
    ],
)
async def test_the_keys_that_ones_own_servers_want(
    *,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    described: str,
    keys: dict[str, str],
    state: str,
    words: str,
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "own"))
    file = tmp_path / "own" / "blueflame" / "blueflame.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(f"version: 1\n{described}\n{OWN}")
    found = (await checked(repository(tmp_path / "r", {"a.txt": "a"}), keys))["keys"]
    assert (found.state, words in found.text) == (state, True), found.text
    assert "canary" not in found.text


@pytest.mark.parametrize(
    ("files", "state", "words"),
    [
        ({"a.txt": "a"}, "note", "none found"),
        ({"Makefile": "test:\n\ttrue\n"}, "well", "found: "),
        (
            {"blueflame.yaml": f"version: 1\ngates: {{x: {{run: [no-such-program]}}}}\n{TWO}"},
            "note",
            "configured: x; 'no-such-program' is absent from the sandbox, where gates run; install",
        ),
        (
            {"blueflame.yaml": f"version: 1\ngates: {{x: {{run: [./check]}}}}\n{TWO}"},
            "well",
            "configured: x",
        ),
        (
            {"blueflame.yaml": f"version: 1\ngates: {{mine: {{run: [make]}}}}\n{TWO}"},
            "well",
            "mine",
        ),
        (
            {"blueflame.yaml": f"version: 1\ngates: {{}}\n{TWO}", "Makefile": "test:\n"},
            "note",
            "none",
        ),
    ],
)
async def test_the_gates_that_would_run(
    tmp_path: Path,
    files: dict[str, str],
    state: str,
    words: str,
) -> None:
    repo = repository(tmp_path / "r", files)
    found = (await checked(repo, ANTHROPIC | OPENAI))["gates"]
    assert (found.state, words in found.text) == (state, True), found.text


async def test_outside_a_repository_that_is_only_noted(tmp_path: Path) -> None:
    found = await checked(tmp_path, {})
    assert (found["repo"].state, "git init" in found["repo"].text) == ("note", True)
    assert "gates" not in found


async def test_it_says_which_repository_it_looked_at(tmp_path: Path) -> None:
    repo = repository(tmp_path / "r", {"a/b.txt": "a"})
    assert (await checked(repo / "a", {}))["repo"] == Check("repo", "well", str(repo))


async def test_a_provider_that_only_the_environment_describes_is_known(tmp_path: Path) -> None:
    repo = repository(tmp_path / "r", {"blueflame.yaml": f"version: 1\n{OWN}"})
    gateway = ProviderEntry.model_validate({"base_url": "https://gateway.example/v1", "key": "K"})
    assert (await checked(repo, {}))["keys"].state == "missing"
    found = (await checked(repo, {"K": "k"}, local=gateway))["keys"]
    assert (found.state, "K (set; " in found.text) == ("well", True), found.text


async def test_a_configuration_without_a_sandbox_is_noted(tmp_path: Path) -> None:
    own = tmp_path / "none" / "blueflame"
    own.mkdir(parents=True)
    (own / "blueflame.yaml").write_text(f"version: 1\nsandbox: none\n{TWO}")
    found = await checked(repository(tmp_path / "r", {"a": "a"}), ANTHROPIC | OPENAI)
    noted = found["commands"]
    assert (noted.state, "Sandbox NONE" in noted.text) == ("note", True)
    assert "blueflame.yaml:2" in noted.text


def test_says_where_to_get_a_program_that_the_sandbox_does_not_have():
    assert "install it under /usr, or name its place under" in absence("no-such-program")
    assert "gitleaks/releases" in absence("gitleaks")


def _write_own(folder: Path, text: str) -> None:
    folder.mkdir(parents=True)
    (folder / "blueflame.yaml").write_text(f"version: 1\n{text}")


async def test_each_toolchain_that_cannot_be_shown_is_missing(tmp_path: Path):
    own = tmp_path / "none" / "blueflame"
    _write_own(own, f"{TWO}environment: {{toolchains: [{tmp_path}, {tmp_path}/gone, {own}]}}\n")
    repo = repository(tmp_path / "r", {"a": "1"})
    settings = Settings(data_dir=tmp_path / "data")
    checks = await repository_checks(repo, ANTHROPIC | OPENAI, settings)
    said = [check for check in checks if check.name == "toolchains"]
    assert [check.state for check in said] == ["missing", "missing", "missing"]
    assert "gone' cannot be used: No such file or directory. Install it" in said[1].text
    assert all("would be seen with it" in said[at].text for at in (0, 2))


HOSTED = "deliver: pull_request\nhosting: {github.com: {repositories: [acme/*]}}\n"


@pytest.mark.parametrize(
    ("url", "token", "words"),
    [
        ("", "t0ken", "MISSING no remote 'origin'"),
        ("/srv/shop.git", "t0ken", "MISSING on no hosting service"),
        ("git@github.com:other/shop.git", "t0ken", "MISSING repositories: [other/shop]"),
        ("git@github.com:acme/shop.git", "", "MISSING set GH_TOKEN or GITHUB_TOKEN"),
        (
            "git@github.com:acme/shop.git",
            "t0ken",
            "ok on github.com (github), remote origin; token: GITHUB_TOKEN (set, not tried)",
        ),
    ],
)
async def test_what_a_pull_request_needs(
    tmp_path: Path, url: str, token: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = repository(tmp_path / "r", {"a.txt": "a\n"})
    if url:
        plain_git(repo, "remote", "add", "origin", url)
    own = tmp_path / "own" / "blueflame"
    own.mkdir(parents=True)
    (own / "blueflame.yaml").write_text(f"version: 1\n{HOSTED}")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "own"))
    found = (await checked(repo, {**ANTHROPIC, "GITHUB_TOKEN": token, "PATH": ""}))["hosting"]
    mark, _, told = words.partition(" ")
    state = "well" if mark == "ok" else "missing"
    assert (found.state, told in found.text) == (state, True), found.text
    assert "t0ken" not in found.text


async def test_a_branch_needs_no_hosting_service(tmp_path: Path) -> None:
    assert "hosting" not in await checked(repository(tmp_path / "r", {"a": "a\n"}), ANTHROPIC)
