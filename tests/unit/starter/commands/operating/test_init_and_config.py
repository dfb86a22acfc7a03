"""`init` and `config` as a person types them: what they print, write and leave alone."""

import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner

from starter.cli import app
from starter.configuration.json_schema import text
from starter.console.exit_codes import ExitCode

AUTHOR = ("-c", "user.name=t", "-c", "user.email=t@example.invalid")
NO_KEYS = dict.fromkeys(("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"))


@dataclass
class Place:
    """A folder in which someone types."""

    root: Path

    def types(self, *arguments: str, **variables: str) -> tuple[int, str, str]:
        own = {"XDG_CONFIG_HOME": str(self.root.parent / "own")}
        result = CliRunner().invoke(app, arguments, env={**NO_KEYS, **own, **variables})
        return result.exit_code, result.stdout, result.stderr

    def git(self, *arguments: str) -> None:
        subprocess.run(["git", *AUTHOR, *arguments], cwd=self.root, check=True, capture_output=True)

    @property
    def file(self) -> Path:
        return self.root / "blueflame.yaml"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    root = tmp_path / "r"
    root.mkdir()
    monkeypatch.chdir(root)
    return Place(root)


@pytest.fixture
def repository(folder: Place) -> Place:
    folder.git("init", "-q", "-b", "main")
    (folder.root / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    (folder.root / "sub").mkdir()
    (folder.root / "sub" / "a").touch()
    folder.git("add", ".")
    folder.git("commit", "-qm", "first")
    return folder


# --- init -----------------------------------------------------------------------------------------


def test_init_writes_a_file_that_passes_and_says_what_it_found(repository: Place):
    code, out, err = repository.types(
        "init", "--repo", "sub", ANTHROPIC_API_KEY="x", OPENAI_API_KEY="y"
    )
    assert (code, err) == (ExitCode.COMPLETE, "")
    for part in (
        "Set-up    python3 -m venv .venv",
        ". .venv/bin/activate && python -m pytest -q",
        "Models    by the keys of anthropic, openai",
        f"Written   {repository.file}",
        "config check",
        "git add blueflame.yaml",
    ):
        assert part in out
    assert repository.file.stat().st_mode & 0o777 == 0o666 & ~_umask()
    assert repository.types("config", "check") == (0, "ok: blueflame.yaml, 5 keys\n", "")
    assert repository.types("config", "check", "blueflame.yaml")[0] == ExitCode.COMPLETE


def _umask() -> int:
    now = os.umask(0)
    os.umask(now)
    return now


def test_init_names_commands_that_work_from_where_it_was_typed(
    repository: Place, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(repository.root.parent)
    _, out, _ = repository.types("init", "--repo", "r")
    for part in (
        f"blueflame config check --repo {repository.root}\n",
        f"git -C {repository.root} add blueflame.yaml",
        f'blueflame run --repo {repository.root} "what you want"',
    ):
        assert part in out


def test_init_replaces_a_file_only_with_force(repository: Place):
    repository.file.write_text("mine")
    repository.file.chmod(0o640)
    code, out, err = repository.types("init")
    assert (code, out) == (ExitCode.USAGE, "")
    assert err == (
        f"error: {str(repository.file)!r} is there already; `config check` judges it, "
        "--force replaces it\n"
    )
    assert repository.file.read_text() == "mine"
    assert repository.types("init", "--force")[0] == ExitCode.COMPLETE
    assert repository.file.read_text().startswith("# Settings of Blue Flame")
    assert repository.file.stat().st_mode & 0o777 == 0o640
    assert sorted(os.listdir(repository.root)) == [
        ".git",
        "blueflame.yaml",
        "pyproject.toml",
        "sub",
    ]


def test_init_does_not_write_through_a_link(repository: Place):
    other = repository.root.parent / "other"
    other.write_text("precious")
    repository.file.symlink_to(other)
    assert repository.types("init")[0] == ExitCode.USAGE
    assert repository.types("init", "--force")[0] == ExitCode.COMPLETE
    assert (other.read_text(), repository.file.is_symlink()) == ("precious", False)


def test_init_leaves_nothing_where_it_cannot_write(repository: Place):
    repository.file.mkdir()
    code, _, err = repository.types("init", "--force")
    assert (code, err[:7]) == (ExitCode.FAILED, "error: ")
    assert sorted(os.listdir(repository.root)) == [
        ".git",
        "blueflame.yaml",
        "pyproject.toml",
        "sub",
    ]


def test_a_dry_init_prints_the_file_and_writes_none(repository: Place):
    code, out, err = repository.types("init", "--dry-run")
    assert (code, repository.file.exists()) == (ExitCode.COMPLETE, False)
    assert "Models    by no key; one is needed" in err
    repository.file.write_text(out)
    assert repository.types("config", "check")[0] == ExitCode.COMPLETE


def test_init_leaves_models_to_the_persons_own_file(repository: Place):
    own = repository.root.parent / "own" / "blueflame" / "blueflame.yaml"
    own.parent.mkdir(parents=True)
    own.write_text("version: 1\nmodels: {developer: [openai/a]}\n")
    out = repository.types("init", ANTHROPIC_API_KEY="x", OPENAI_API_KEY="y")[1]
    assert "Models    as your own configuration names them" in out
    assert "\nmodels:" not in repository.file.read_text()


def test_a_gate_whose_program_the_sandbox_lacks_is_reported(repository: Place):
    (repository.root / "Cargo.toml").touch()
    repository.git("add", ".")
    repository.git("commit", "-qm", "cargo")
    out = repository.types("init", PATH=os.environ["PATH"])[1]
    found = "Program   cargo: /usr" in out
    assert found or "Program   cargo: absent from the sandbox, where gates run; install" in out


@pytest.mark.parametrize(
    ("commands", "expected"),
    [
        ((), "is not in a git repository; run `git init` and commit, or go to one"),
        ((("init", "-q"),), "has no commit yet; commit something, then start again"),
        ((("init", "-q", "--bare"),), "has no commit yet"),
    ],
)
def test_init_elsewhere_is_one_message(
    folder: Place, commands: tuple[tuple[str, ...], ...], expected: str
):
    for arguments in commands:
        folder.git(*arguments)
    code, out, err = folder.types("init")
    assert (code, out) == (ExitCode.USAGE, "")
    assert expected in err
    assert len(err.splitlines()) == 1
    assert not folder.file.exists()


def test_init_in_a_bare_repository_is_one_message(repository: Place):
    repository.git("clone", "-q", "--bare", ".", "../bare.git")
    code, _, err = repository.types("init", "--repo", "../bare.git")
    assert code == ExitCode.USAGE
    assert "has no checkout to write into; run `init` in a clone of it" in err
    assert not (repository.root.parent / "bare.git" / "blueflame.yaml").exists()


# --- config ---------------------------------------------------------------------------------------


def test_show_is_a_file_and_names_origins_when_asked(repository: Place):
    repository.file.write_text("version: 1\nturns: 5\n")
    code, out, err = repository.types(
        "config", "show", "--origin", "--auto-approve", "--repo", "sub"
    )
    assert (code, err) == (ExitCode.COMPLETE, "")
    origins = [line.split() for line in out.splitlines()]
    assert ["turns:", "5", "#", "blueflame.yaml:2"] in origins
    assert ["on_cap:", "stop", "#", "--auto-approve"] in origins
    plain = repository.types("config", "show")[1].splitlines()
    assert "turns: 5" in plain
    assert [line for line in plain if line.endswith(("# default", "yaml:2"))] == []


def test_show_as_json_is_one_document(repository: Place):
    repository.file.write_text("version: 1\nbudget: {stop_usd: 2.50}\n")
    code, out, err = repository.types("config", "show", "--json", "--playbook", "any.yaml")
    document = json.loads(out)
    assert (code, err, document["schema_version"]) == (ExitCode.COMPLETE, "", 1)
    assert document["settings"]["budget.stop_usd"] == {
        "value": 2.5,
        "origin": {"layer": "repository", "source": "blueflame.yaml", "line": 2, "column": 10},
    }
    assert document["settings"]["models.planner"]["origin"]["source"] == "--playbook"


def test_show_as_json_says_what_is_wrong_as_a_document(repository: Place):
    repository.file.write_text("version: 1\nturns: many\n")
    code, out, err = repository.types("config", "show", "--json")
    assert code == ExitCode.USAGE
    assert json.loads(out)["error"]["message"] == err.removeprefix("error: ").rstrip("\n")
    assert "blueflame.yaml:2:1: turns" in err


def test_the_budget_of_the_command_line_is_an_origin(repository: Place):
    code, out, _ = repository.types("config", "show", "--origin", "--budget", "3")
    assert code == ExitCode.COMPLETE
    assert ["stop_usd:", "3", "#", "--budget"] in [line.split() for line in out.splitlines()]


def test_a_file_may_name_the_persons_own_providers(repository: Place):
    named = repository.root / "named.yaml"
    models = "{planner: [local/x], developer: [local/x], reviewer: [other/y]}"
    named.write_text(f"version: 1\nmodels: {models}\n")
    code, _, err = repository.types("config", "check", "named.yaml")
    assert (code, "unknown provider 'local'" in err) == (ExitCode.USAGE, True)
    own = repository.root.parent / "own" / "blueflame" / "blueflame.yaml"
    own.parent.mkdir(parents=True)
    own.write_text("version: 1\nproviders: {local: {base_url: 'http://127.0.0.1:1/v1'}}\n")
    variables = {"BLUEFLAME_PROVIDERS": '{"other": {"base_url": "http://127.0.0.1:2/v1"}}'}
    for options in (("check", "named.yaml"), ("show", "--config", "named.yaml")):
        code, _, err = repository.types("config", *options, **variables)
        assert (code, err) == (ExitCode.COMPLETE, "")


def test_show_and_check_work_without_a_repository(folder: Place):
    assert folder.types("config", "show")[0] == ExitCode.COMPLETE
    assert "no configuration file is here; the defaults hold" in folder.types("config", "check")[1]
    code, _, err = folder.types("config", "show", "--repo", "..")
    assert (code, "is not in a git repository; --repo names one" in err) == (ExitCode.USAGE, True)


def test_the_persons_own_file_is_judged_with_the_repositorys(repository: Place):
    own = repository.root.parent / "own" / "blueflame" / "blueflame.yaml"
    own.parent.mkdir(parents=True)
    own.write_text("version: 1\nbudget: {stop_usd: 5}\n")
    repository.file.write_text("version: 1\nbudget:\n  stop_usd: 6\n")
    for file in ((), ("blueflame.yaml",), (str(repository.file),)):
        code, out, err = repository.types("config", "check", *file)
        assert (code, out) == (ExitCode.USAGE, "")
        assert err.startswith("error: blueflame.yaml:3:3: budget.stop_usd: 6 where 5 applies")
    named = repository.root / "night.yaml"
    named.write_text("version: 1\nbudget: {stop_usd: 6}\nsandbox: none\n")
    assert repository.types("config", "check", "night.yaml") == (0, "ok: night.yaml, 2 keys\n", "")
    repository.file.unlink()
    assert repository.types("config", "check")[1] == f"ok: {own}, 1 key\n"


def test_every_mistake_of_a_file_is_reported_at_once(repository: Place):
    repository.file.write_text("version: 1\nturns: x\npacing: y\n")
    code, _, err = repository.types("config", "check")
    assert code == ExitCode.USAGE
    assert re.findall(r"blueflame\.yaml:(\d):1: (\w+): must be", err) == [
        ("3", "pacing"),
        ("2", "turns"),
    ]


def test_the_schema_is_printed(folder: Place):
    assert folder.types("config", "schema") == (0, text(), "")


def test_migrate_prints_or_writes_and_leaves_the_rest(folder: Place):
    folder.file.write_text("# ours\nturns: 5  # few\n")
    folder.file.chmod(0o604)
    wanted = "# ours\nversion: 1\nturns: 5  # few\n"
    assert folder.types("config", "migrate") == (0, wanted, "")
    assert folder.file.read_text() == "# ours\nturns: 5  # few\n"
    code, out, _ = folder.types("config", "migrate", "--write", "blueflame.yaml")
    assert (code, folder.file.read_text()) == (0, wanted)
    assert "is of version 1 now; see `" in out
    assert folder.file.stat().st_mode & 0o777 == 0o604
    code, out, err = folder.types("config", "migrate", "--write")
    assert (code, out, err) == (0, "", "blueflame.yaml is of version 1: nothing to do\n")
    assert os.listdir(folder.root) == ["blueflame.yaml"]


def test_migrate_of_what_is_not_there_or_too_new(folder: Place):
    code, _, err = folder.types("config", "migrate")
    assert (code, "'blueflame.yaml' cannot be read: No such file" in err) == (ExitCode.USAGE, True)
    folder.file.write_text("version: 3\n")
    code, out, err = folder.types("config", "migrate")
    assert (code, out) == (ExitCode.USAGE, "")
    assert err.startswith(
        "error: blueflame.yaml:1:1: version: 3 is not one of 0, 1; update Blue Flame"
    )


@pytest.mark.parametrize(
    ("said", "on_cap"), [("cap: stop", "stop"), ("raise_cap_to_usd: 20", "pause")]
)
def test_a_decisions_file_shows_what_it_changes(repository: Place, said: str, on_cap: str):
    (repository.root / "night.yaml").write_text(f"version: 1\n{said}\n")
    _, out, _ = repository.types("config", "show", "--decisions", "night.yaml", "--json")
    shown = json.loads(out)["settings"]["on_cap"]
    assert (shown["value"], shown["origin"]["source"]) == (on_cap, "--decisions")
