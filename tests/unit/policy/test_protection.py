"""What an agent may write: the table of `denies`."""

import pytest

from workflows.policy.claims import claim_fault
from workflows.policy.protection import LOCK_FILES, PROTECTED, denies


@pytest.mark.parametrize(
    "path",
    [
        ".git",
        ".git/config",
        "sub/.GIT/hooks/x",
        ".gitmodules",
        "blueflame.yaml",
        ".github/workflows/ci.yml",
        ".gitlab-ci.yml",
        ".circleci/config.yml",
        "Jenkinsfile",
    ],
)
def test_the_judge_is_protected_whatever_is_claimed(path: str):
    assert denies(path, ("**", path)) == (
        f"{path!r} is protected: agents never change it; leave it as it is"
    )


@pytest.mark.parametrize("path", [".gitignore", ".github/CODEOWNERS", "Makefile", "pyproject.toml"])
def test_neighbours_and_sources_of_gates_are_free(path: str):
    assert denies(path, ("**",)) is None


def test_outside_the_claims_is_denied_with_them():
    assert denies("b/x.py", ("a/**", "c")) == "'b/x.py' is outside this task's claims (a/**, c)"


LOCKS = ["poetry.lock", "uv.lock", "web/package-lock.json", "go.sum", "requirements-dev.lock"]


@pytest.mark.parametrize("path", LOCKS)
@pytest.mark.parametrize("claim", ["**", "**/*", "**/**"])
def test_a_claim_on_everything_names_no_lock_file(path: str, claim: str):
    assert denies(path, (claim, "src/**")) == (
        f"{path!r} is a lock file: only a task whose claims name it may change it"
    )


@pytest.mark.parametrize("path", LOCKS)
def test_a_lock_file_that_a_claim_names_may_be_written(path: str):
    assert denies(path, ("**", path)) is None
    assert denies(path, ("**", f"**/{path.rpartition('/')[2]}")) is None


@pytest.mark.parametrize(
    ("path", "claim"),
    [("Cargo.lock", "*.lock"), ("web/yarn.lock", "web/**"), ("web/go.sum", "web")],
)
def test_a_pattern_that_says_more_than_everything_is_enough(path: str, claim: str):
    assert denies(path, (claim,)) is None


@pytest.mark.parametrize("path", ["lock", "src/lock.py", "padlock.json", "requirements.txt"])
def test_what_only_sounds_like_a_lock_file_is_none(path: str):
    assert denies(path, ("**",)) is None


@pytest.mark.parametrize("pattern", [*PROTECTED, *LOCK_FILES])
def test_every_rule_can_match(pattern: str):
    assert claim_fault(pattern) is None
