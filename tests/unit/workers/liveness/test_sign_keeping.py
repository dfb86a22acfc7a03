"""A worker's loop keeps its sign as long as it looks well, and takes the sign away at its end."""

import asyncio
import os
import socket
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.waiting import until
from workers.liveness.sign_keeping import hanging, passed_on, shown, troubles
from workers.liveness.sign_of_life import Sign, read_sign, sign_file, write_sign
from workers.roles import Role
from workers.settings import Settings

ROLES = (Role.MODELS, Role.HOST)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    made = Settings(data_dir=tmp_path / "data", liveness_seconds=1)
    made.host_dir.mkdir(parents=True)
    return made


@pytest.fixture
def manager(tmp_path: Path) -> Generator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as made:
        made.setblocking(False)
        made.bind(str(tmp_path / "notify"))
        yield made


def variables(tmp_path: Path) -> dict[str, str]:
    return {"NOTIFY_SOCKET": str(tmp_path / "notify")}


def heard(manager: socket.socket) -> list[str]:
    found: list[str] = []
    while True:
        try:
            found.append(manager.recv(4_096).decode())
        except BlockingIOError:
            return found


def signs(settings: Settings) -> list[Sign | None]:
    return [read_sign(sign_file(settings, role)) for role in ROLES]


async def test_each_good_look_renews_the_signs(
    settings: Settings, manager: socket.socket, tmp_path: Path
) -> None:
    looks: list[str] = []

    async def look() -> str:
        looks.append("")
        return looks[-1]

    async with shown(settings, ROLES, variables(tmp_path), look):
        (first, _) = signs(settings)
        assert first is not None
        await until(lambda: len(looks) >= 3, "three looks")
        now = signs(settings)
        assert all(each is not None and each.well_at > first.well_at for each in now)
        assert all(each is not None and each.trouble == "" for each in now)
    assert signs(settings) == [None, None]
    said = heard(manager)
    assert said[0] == "READY=1"
    assert set(said[1:]) == {"WATCHDOG=1"}


async def test_trouble_that_lasts_makes_the_signs_stale(
    settings: Settings, manager: socket.socket, tmp_path: Path
) -> None:
    async def look() -> str:
        return "no server"

    async with shown(settings, ROLES, variables(tmp_path), look):
        await until(lambda: all(troubles(settings, ROLES).values()), "the signs are stale")
        assert "no server" in troubles(settings, ROLES)[Role.MODELS]
        assert len(hanging(settings)) == len(ROLES)
    assert hanging(settings) == []
    assert heard(manager) == ["READY=1"]


@pytest.mark.slow
async def test_a_look_that_fails_is_trouble(settings: Settings) -> None:
    async def look() -> str:
        raise RuntimeError("no bridge")

    async with shown(settings, [Role.MODELS], {}, look):
        await until(lambda: "no bridge" in troubles(settings, ROLES)[Role.MODELS], "it is told")


async def test_a_blocked_look_makes_the_signs_stale(settings: Settings) -> None:
    async def look() -> str:
        await asyncio.Event().wait()
        return ""

    async with shown(settings, ROLES, {}, look):
        await until(lambda: all(troubles(settings, ROLES).values()), "the signs are stale")


async def test_a_disk_that_takes_nothing_ends_no_worker(settings: Settings) -> None:
    sign_file(settings, Role.MODELS).mkdir()
    looks: list[str] = []

    async def look() -> str:
        looks.append("")
        return ""

    async with shown(settings, ROLES, {}, look):
        await until(lambda: len(looks) >= 2, "two looks")
        assert read_sign(sign_file(settings, Role.HOST)) is not None


async def test_a_worker_of_an_older_build_leaves_the_file_to_the_current_one(
    tmp_path: Path, settings: Settings
) -> None:
    older = Settings(data_dir=settings.data_dir, takes_new=False)

    async def look() -> str:
        return ""

    async with shown(older, ROLES, {}, look):
        assert signs(settings) == [None, None]


async def test_who_keeps_the_workers_is_alive_while_all_of_them_are(
    settings: Settings, manager: socket.socket, tmp_path: Path
) -> None:
    async def look() -> str:
        return ""

    async with passed_on(settings, variables(tmp_path)):
        assert heard(manager) == ["READY=1"]  # no worker is there yet
        async with shown(settings, Role, {}, look):
            await until(lambda: "WATCHDOG=1" in heard(manager), "all workers are alive")
    assert heard(manager)[-1] == "STOPPING=1"


async def test_a_sign_that_another_process_wrote_since_stays(settings: Settings) -> None:
    async def look() -> str:
        return ""

    file = sign_file(settings, Role.MODELS)
    async with shown(settings, [Role.MODELS], {}, look):
        mine = read_sign(file)
        assert mine is not None
        other = mine.model_copy(update={"pid": os.getppid()})
        write_sign(file, other)
    assert read_sign(file) == other
