"""The build id follows from the workflow code, and from nothing else."""

from pathlib import Path

import pytest
from pydantic import ValidationError
from temporalio import workflow

from workers.roles import Role
from workers.settings import Settings
from workers.versions.build_id import build_id, build_of, release
from workers.wiring import workflows_for
from workflows.errors import INTERNAL_ERRORS


def code(root: Path, **modules: str) -> Path:
    """Write packages with these modules of `workflows`."""
    for name, text in modules.items():
        path = root / "workflows" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (root / "workers").mkdir(exist_ok=True)
    (root / "workers" / "x.py").write_text(str(root))
    return root


def test_equal_workflow_code_is_one_build_wherever_it_is(tmp_path: Path) -> None:
    first, second = (code(tmp_path / name, a="1", b="2") for name in ("one", "two"))
    assert build_id(first) == build_id(second)
    assert build_id(first).startswith(f"{release()}-")


@pytest.mark.parametrize("modules", [{"a": "1", "b": "3"}, {"a": "1"}, {"a": "1", "c": "2"}])
def test_other_workflow_code_is_another_build(tmp_path: Path, modules: dict[str, str]) -> None:
    was = code(tmp_path / "was", a="1", b="2")
    assert build_id(code(tmp_path / "is", **modules)) != build_id(was)


def test_a_setting_names_the_build() -> None:
    assert build_of(Settings(build="mine-1")) == "mine-1"
    assert build_of(Settings()).startswith(f"{release()}-")


@pytest.mark.parametrize("name", ["../x", "a:b", "a/b", ".hidden", "x" * 101])
def test_a_build_is_named_so_that_a_folder_can_be(name: str) -> None:
    with pytest.raises(ValidationError):
        Settings(build=name)


def test_code_that_does_not_fit_its_history_waits_and_internal_errors_fail() -> None:
    for each in workflows_for(Role.WORKFLOWS):
        failing = workflow._Definition.must_from_class(each).failure_exception_types  # pyright: ignore[reportPrivateUsage]
        assert not issubclass(workflow.NondeterminismError, tuple(failing)), each
    standard = [
        each
        for each in Exception.__subclasses__()
        if each.__module__ == "builtins" and not issubclass(each, Warning)
    ]
    assert all(issubclass(each, INTERNAL_ERRORS) for each in standard), standard
