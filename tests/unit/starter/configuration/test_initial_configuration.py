"""What `init` proposes is right, short, and says what was found."""

import pytest

from activities.projects.proposal import Proposal, ToolchainNeed
from starter.configuration.file_shape import read_file
from starter.configuration.initial_configuration import find, text
from workflows.domain.gate import GateSpec

PYTEST = GateSpec(name="pytest", argv=("python", "-m", "pytest", "-q"), source="detected")
GO = GateSpec(name="go-test", argv=("go", "test", "./..."), source="detected")
SHELL = GateSpec(name="all", argv=("bash", "-e", "-o", "pipefail", "-c", "a && b # c"))
TWO = {"ANTHROPIC_API_KEY": "x", "GEMINI_API_KEY": "y"}


@pytest.mark.parametrize("gates", [(), (PYTEST,), (GO, PYTEST), (SHELL,)])
@pytest.mark.parametrize("environment", [{}, {"OPENAI_API_KEY": "x"}, TWO])
def test_the_initial_file_is_valid_and_names_what_was_found(
    gates: tuple[GateSpec, ...], environment: dict[str, str]
):
    written = text(find(Proposal(gates=gates), environment, has_own_models=False))
    file = read_file(written, "blueflame.yaml", from_repository=True).value
    assert [entry.run for entry in (file.gates or {}).values()] == [gate.argv for gate in gates]
    assert (file.models is not None) == bool(environment)
    assert len(written.splitlines()) < 30
    assert max(map(len, written.splitlines())) <= 100


@pytest.mark.parametrize("environment", [{}, TWO])
def test_the_commented_proposals_are_valid(environment: dict[str, str]):
    lines = text(find(Proposal(), environment, has_own_models=False)).splitlines()
    said = [line.removeprefix("# ") for line in lines if line.startswith(("# ", "version"))]
    proposed = [line for line in said if line.startswith(("  ", "version")) or line.endswith(":")]
    proposed += [line for line in said if line.startswith("budget:")]
    proposed = [line for line in proposed if not line[0].isupper()]
    file = read_file("\n".join(proposed), "x", from_repository=True).value
    assert file.gates is not None
    assert file.budget is not None
    assert (file.models is None) == (environment is TWO)


def test_models_are_those_of_the_keys():
    file = read_file(text(find(Proposal(), TWO, has_own_models=False)), "x").value
    assert file.models is not None
    assert file.models.developer == ("anthropic/claude-sonnet-5-5",)
    assert file.models.reviewer == ("google/gemini-4-argon",)
    assert find(Proposal(), TWO, has_own_models=False).providers == ("anthropic", "google")


def test_models_of_the_persons_own_file_are_not_replaced():
    written = text(find(Proposal(), TWO, has_own_models=True))
    assert read_file(written, "x").value.models is None
    assert "# Models are those of each person's own file." in written


SETUP = ("python3 -m venv .venv && echo '*' > .venv/.gitignore && x 'a: b' # c", "npm ci")


def test_set_up_and_toolchains_are_said_and_only_the_repositorys_part_is_set():
    need = ToolchainNeed(
        language="python", version="3.12\nsandbox: none", evidence="pyproject.toml"
    )
    proposal = Proposal(
        needs=(need,),
        setup=SETUP,
        indexes=("pip",),
        variables={"CARGO_HOME": "/workspace/target/cargo-home"},
        gates=(PYTEST,),
        notes=("CI runs: tox",),
    )
    own = "environment: {toolchains: [~/x]}\nworktree: {network: [index.example]}"
    written = text(find(proposal, {}, has_own_models=False, own_line=own))
    file = read_file(written, "blueflame.yaml", from_repository=True).value
    assert file.worktree is not None
    assert [argv[-1] for argv in file.worktree.setup or ()] == [SETUP[0], "ci"]
    assert file.worktree.network is None
    assert file.environment is not None
    assert file.environment.toolchains is None
    assert file.environment.variables == {"CARGO_HOME": "/workspace/target/cargo-home"}
    assert file.sandbox is None
    assert "# pyproject.toml asks for python 3.12 sandbox: none" in written
    assert "#   environment: {toolchains: [~/x]}" in written
