"""Every attack of the tables in the sandbox, and its control, where one is possible."""

import os

import pytest

from tests.security import runs
from tests.security.arena import Arena
from tests.security.attacks import (
    descriptors,
    files,
    kernel,
    layers,
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
    "descriptors": descriptors.CASES,
    "kernel": kernel.CASES,
    "system-calls": system_calls.CASES,
    "resources": resources.CASES,
}
CASES = [(kind, case) for kind, cases in TABLES.items() for case in cases]
_EFFORT = {True: (pytest.mark.slow,), False: ()}
EACH = [
    pytest.param(
        each, marks=pytest.mark.slow if each[1].is_slow else (), id=f"{each[0]}: {each[1].name}"
    )
    for each in CASES
]

_CONTROLLED = [each for each in CASES if each[1].control in (WORKS, KERNEL)]
BENEATH = [each for each in CASES if "hold()" not in each[1].attack]
"""A pipe of the host's is not the same above a snapshot, so what is looked at there is left out."""


def _name(case: tuple[str, Case]) -> str:
    return f"{case[0]}: {case[1].name}"


def needs_its_machine(case: Case) -> None:
    if case.is_x86 and os.uname().machine != "x86_64":
        pytest.skip("numbers of x86-64")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", EACH)
async def test_an_attack_reaches_nothing(arena: Arena, case: tuple[str, Case]):
    attack = case[1]
    needs_its_machine(attack)
    ran = await runs.confined(arena, attack)
    assert attack.effect(arena, ran) == "", ran.output[-2000:]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("case", BENEATH, ids=_name)
async def test_an_attack_from_above_a_snapshot_reaches_nothing(
    arena: Arena, case: tuple[str, Case]
):
    attack = case[1]
    needs_its_machine(attack)
    ran = await runs.confined(arena, attack, arena.layered)
    assert attack.effect(arena, ran) == "", ran.output[-2000:]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", layers.CASES, ids=lambda case: case.name)
async def test_a_snapshot_is_out_of_reach(arena: Arena, case: Case):
    """And a second command still starts: nothing that the first left is in the mount's way."""
    ran = await runs.confined(arena, case, arena.layered)
    assert case.effect(arena, ran) == "", ran.output[-2000:]
    again = Case("again", "echo started", case.effect, case.control)
    ran = await runs.confined(arena, again, arena.layered)
    assert (ran.output, case.effect(arena, ran)) == (b"started\n", "")


@pytest.mark.sampled(6)
@pytest.mark.parametrize("case", _CONTROLLED, ids=_name)
async def test_an_attack_works_without_the_layer(arena: Arena, case: tuple[str, Case]):
    """Its control: if it had no effect there, its failing in the sandbox would prove nothing."""
    attack = case[1]
    needs_its_machine(attack)
    effect = attack.effect(arena, ran := await runs.unconfined(arena, attack))
    assert effect or attack.control == KERNEL, f"without the layer nothing happened: {ran}"


def test_every_case_has_a_name_of_its_own():
    names = [(kind, case.name) for kind, case in CASES]
    assert len(set(names)) == len(names)


def test_a_case_without_a_control_says_why():
    assert all(case.control in (WORKS, KERNEL) or " " in case.control for _, case in CASES)
