"""A root folder made from Debian's packages: the real thing, and every attack in it.

Skipped where `mmdebstrap` is not installed, or gets no packages.
"""

import shutil
import subprocess
from pathlib import Path

import pytest

from activities.adapters.sandbox.bubblewrap import BubblewrapSandbox
from activities.ports.sandbox_port import Limits, SandboxCommand, Workspace
from activities.ports.toolchain_places import Toolchains, examine
from activities.toolset.file_calls import FileTools
from tests.e2e.test_doctor import Person
from tests.security import runs
from tests.security.arena import Arena
from tests.security.case import Case
from tests.security.test_attacks import CASES, needs_its_machine
from workflows.domain.environment import ProjectEnvironment

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

_PACKAGES = (
    *("base-files", "dash", "bash", "coreutils", "grep", "sed", "findutils", "util-linux", "mount"),
    *("procps", "python3", "git", "libc-bin"),
)
_SECONDS = 600


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An unpacked Debian of this machine's version."""
    program = shutil.which("mmdebstrap")
    if program is None:
        pytest.skip("mmdebstrap is not installed: apt-get install mmdebstrap")
    top = tmp_path_factory.mktemp("image")
    said = Path("/etc/os-release").read_text()
    named = [line.partition("=")[2] for line in said.splitlines() if "VERSION_CODENAME=" in line]
    options = ("--mode=chrootless", "--variant=extract", f"--include={','.join(_PACKAGES)}")
    made = subprocess.run(
        (program, *options, named[0] if named else "stable", str(top / "root")),
        env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(top), "TMPDIR": str(top)},
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    if made.returncode != 0:
        pytest.skip(f"mmdebstrap made no root folder: {made.stderr[-500:]}")
    (top / "root" / "etc" / "of-the-image").write_text("theirs\n")
    return top / "root"


@pytest.fixture
def sandbox(image: Path) -> BubblewrapSandbox:
    return BubblewrapSandbox(offered=Toolchains({str(image): examine(str(image))}))


def workspace(tree: Path, image: Path) -> Workspace:
    return Workspace(path=tree, environment=ProjectEnvironment(root=str(image)))


async def run(sandbox: BubblewrapSandbox, where: Workspace, script: str) -> str:
    command = SandboxCommand(argv=("bash", "-c", script), workspace=where)
    return (await sandbox.run(command)).output.decode()


async def test_the_programs_and_settings_are_the_images(
    sandbox: BubblewrapSandbox, image: Path, tmp_path: Path
):
    where = workspace(tmp_path, image)
    assert await run(sandbox, where, "cat /etc/of-the-image; id -un") == "theirs\nagent\n"
    assert await run(sandbox, where, "python3 -c 'import ssl, ctypes; print(1)'") == "1\n"
    assert await run(sandbox, where, "command -v bwrap mmdebstrap") == ""
    assert "packages" not in await run(sandbox, where, "python3 -c 'import temporalio' 2>/dev/null")


async def test_nothing_of_it_can_be_written(
    sandbox: BubblewrapSandbox, image: Path, tmp_path: Path
):
    script = "touch /usr/x /etc/x /etc/of-the-image /etc/.image/x /var/x /x; echo bad >/bin/sh"
    said = await run(sandbox, workspace(tmp_path, image), script)
    assert said.count("Read-only file system") == 7, said


async def test_the_file_tools_work_in_it(sandbox: BubblewrapSandbox, image: Path, tmp_path: Path):
    tools = FileTools(sandbox, workspace(tmp_path, image), Limits())
    (tmp_path / "a.txt").write_text("one\n")
    answer = await tools.ask({"op": "read", "path": "a.txt", "offset": 0, "limit": 10})
    assert "one" in answer.text, answer


async def test_a_layer_and_a_root_folder_go_together(
    sandbox: BubblewrapSandbox, image: Path, arena: Arena
):
    where = arena.layered.model_copy(update={"environment": ProjectEnvironment(root=str(image))})
    assert await run(sandbox, where, "cat lib/installed a.txt") == "installed\none\n"


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}: {case[1].name}")
async def test_an_attack_reaches_nothing(
    arena: Arena, sandbox: BubblewrapSandbox, image: Path, case: tuple[str, Case]
):
    attack = case[1]
    needs_its_machine(attack)
    where = arena.workspace.model_copy(update={"environment": ProjectEnvironment(root=str(image))})
    ran = await runs.confined(arena, attack, where, sandbox)
    assert attack.effect(arena, ran) == "", ran.output[-2000:]


def test_a_repository_is_judged_in_it(image: Path, tmp_path: Path):
    person = Person(tmp_path)
    person.says(f"environment: {{root: {image}}}")
    gates = "gates: {image: {run: cat /etc/of-the-image}, other: {run: git --version}}\n"
    checks = person.doctor({"blueflame.yaml": f"version: 1\n{gates}"})
    assert "can judge: passed" in checks["gate image"][1]
    assert "can judge: passed" in checks["gate other"][1]
