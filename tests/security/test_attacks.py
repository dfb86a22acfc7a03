"""Every attack of the tables: its control first, where one is possible, then the sandbox."""

import os

import pytest

from tests.security import runs
from tests.security.arena import Arena
from tests.security.attacks import (
    files,
    kernel,
    planted,
    repository,
    resources,
    secrets,
    system_calls,
)
from tests.security.case import KERNEL, WORKS, Case

TABLES = {
    "files": files.CASES,
    "repository": repository.CASES,
    "planted": planted.CASES,
    "secrets": secrets.CASES,
    "kernel": kernel.CASES,
    "system-calls": system_calls.CASES,
    "resources": resources.CASES,
}
CASES = [(kind, case) for kind, cases in TABLES.items() for case in cases]


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=f"{kind}: {case.name}") for kind, case in CASES]
)
async def test_an_attack_reaches_nothing(arena: Arena, case: Case, has_controls: bool):
    if case.is_x86 and os.uname().machine != "x86_64":
        pytest.skip("numbers of x86-64")
    if has_controls and case.control in (WORKS, KERNEL):
        effect = case.effect(arena, ran := await runs.unconfined(arena, case))
        assert effect or case.control == KERNEL, f"without the layer nothing happened: {ran}"
        arena.reset()
    ran = await runs.confined(arena, case)
    assert case.effect(arena, ran) == "", ran.output[-2000:]


def test_every_case_has_a_name_of_its_own():
    names = [(kind, case.name) for kind, case in CASES]
    assert len(set(names)) == len(names)


def test_a_case_without_a_control_says_why():
    assert all(case.control in (WORKS, KERNEL) or " " in case.control for _, case in CASES)
