"""Workflow code does not change unnoticed: a recorded history may not hold what a change breaks."""

import json
from pathlib import Path

import pytest

from tests.replay.fingerprints import fingerprint, fingerprints, module_files, workflows_with
from tests.replay.record import FINGERPRINTS


def test_workflow_code_is_as_its_histories_were_recorded():
    files = module_files()
    now = fingerprints(files)
    recorded: dict[str, str] = json.loads(FINGERPRINTS.read_text(encoding="utf-8"))
    changed = sorted(
        name for name in now.keys() | recorded.keys() if now.get(name) != recorded.get(name)
    )
    affected = ", ".join(workflows_with(changed, files))
    assert not changed, (
        f"workflow code changed in {', '.join(changed)} (used by {affected}). If the order or kind "
        "of commands can differ, gate the change by workflow.patched, so that running sessions go "
        "on, and then run `scripts/record_histories --fingerprints-only`. Where no session that "
        "began before has to go on, run `scripts/record_histories`"
    )


SOURCE = '"""Doc."""\n\ndef f(x: int) -> int:\n    """Doc."""\n    return x + 1\n'


@pytest.mark.parametrize(
    "same",
    [
        "def f(x: int) -> int:\n    return x + 1\n",
        '"""Other."""\n# why\ndef f(x: int) -> int:\n    """Other."""\n    return (x + 1)  # so\n',
    ],
)
def test_prose_and_layout_do_not_count(same: str):
    assert fingerprint(same) == fingerprint(SOURCE)


@pytest.mark.parametrize(
    "other",
    [
        "def f(x: int) -> int:\n    return x + 2\n",
        "def f(x: int) -> int:\n    return x - 1\n",
        "def f(y: int) -> int:\n    return y + 1\n",
        "def f(x: int) -> int:\n    return x + 1.0\n",
        "async def f(x: int) -> int:\n    return x + 1\n",
        "def f(x: int, *, z: int = 0) -> int:\n    return x + 1\n",
    ],
)
def test_every_other_change_counts(other: str):
    assert fingerprint(other) != fingerprint(SOURCE)


def test_the_fingerprint_does_not_depend_on_the_version_of_python():
    # Computed once; every version must agree.
    text = (
        "class A:\n    x: int = 1\n\n    async def f(self, *a: int) -> str:\n"
        "        return f'{a!r}'\n"
    )
    assert fingerprint(text) == "9a47b0d445969f58"


def test_a_change_names_the_workflows_that_it_reaches(tmp_path: Path):
    texts = {
        "a": "from workflows.policy import p\n@workflow.defn(name='A')\nclass A: ...\n",
        "b": "@workflow.defn\nclass B: ...\n",
        "policy.p": "from workflows.domain.d import D\n",
        "domain.d": "class D: ...\n",
    }
    files = {f"workflows.{name}": tmp_path / f"{name}.py" for name in texts}
    for name, text in texts.items():
        files[f"workflows.{name}"].write_text(text)
    assert workflows_with(["workflows.domain.d"], files) == ["workflows.a"]
    assert workflows_with(["workflows.b"], files) == ["workflows.b"]
