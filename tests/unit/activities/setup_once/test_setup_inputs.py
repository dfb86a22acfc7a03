"""Which trees one set-up does for."""

import pytest

from activities.ports.snapshot_port import InputsRead, SnapshotRecord
from activities.setup_once.setup_inputs import Grounds, fits, inputs_read, setup_key, tree_digest
from workflows.domain.environment import ProjectEnvironment
from workflows.domain.ids import Digest
from workflows.domain.repository import CopiedFile

TREE = {
    b"package.json": "1",
    b"web/package-lock.json": "2",
    b"src/app.py": "3",
    b"src/deps.txt": "9",
    b"src/pkg/mod.py": "4",
    b"tests/fixtures/package.json": "5",
    b"tools/boot.sh": "6",
    b"README.md": "7",
    **{f"big/{name}.py".encode(): name for name in "abcd"},
    b"\xff.txt": "8",
}
PLAIN = ProjectEnvironment()
COMMANDS = (("sh", "tools/boot.sh"),)
NPM = (("npm", "ci"),)


def key(
    tree: dict[bytes, str] = TREE,
    commands: tuple[tuple[str, ...], ...] = NPM,
    environment: ProjectEnvironment = PLAIN,
    places: tuple[str, ...] = (),
    copied: tuple[CopiedFile, ...] = (),
) -> str:
    return setup_key(Grounds("k", commands, environment, places, copied), tree)


@pytest.mark.parametrize(
    ("path", "counts"),
    [
        (b"package.json", True),
        (b"web/package-lock.json", True),
        (b"src/app.py", False),
        (b"tests/fixtures/package.json", False),
        (b"tools/boot.sh", False),
        (b"uv.lock", True),
        (b"requirements-dev.txt", True),
        (b"\xff.txt", False),
    ],
)
def test_a_manifest_is_part_of_the_key(path: bytes, *, counts: bool):
    assert (key({**TREE, path: "new"}) != key()) is counts


def test_a_file_that_a_command_names_is_part_of_the_key():
    for commands in ((("./tools/boot.sh",),), (("bash", "-c", "cd x && sh tools/boot.sh -q"),)):
        assert key({**TREE, b"tools/boot.sh": "new"}, commands) != key(commands=commands)
    make = (("make", "deps"),)
    assert key({**TREE, b"Makefile": "new"}, make) != key(commands=make)


def test_commands_environment_places_and_copied_files_are_part_of_the_key():
    copied = CopiedFile(path=".env", content=Digest("a"), executable=False)
    others = {
        key(),
        key(commands=(("npm", "install"),)),
        key(environment=ProjectEnvironment(variables={"A": "1"})),
        key(environment=ProjectEnvironment(toolchains=("/opt/a",))),
        key(places=("/opt/a=/opt/b",)),
        key(copied=(copied,)),
    }
    assert len(others) == 6


def record(read: InputsRead | None) -> SnapshotRecord:
    return SnapshotRecord(schema=1, tree=tree_digest(TREE), read=read, paths=(), size_bytes=0)


@pytest.mark.parametrize(
    ("files", "folders", "change", "does_fit"),
    [
        ([], [], {b"src/app.py": "new"}, True),
        ([b"src/app.py"], [], {}, True),
        ([b"src/app.py"], [], {b"src/app.py": "new"}, False),
        ([b"src/app.py"], [], {b"src/pkg/mod.py": "new"}, True),
        ([b"src/app.py"], [], {b"src/more.py": "new"}, False),
        ([b"src/app.py"], [], {b"src/more/x.py": "new"}, False),
        ([b"big/a.py"], [], {b"big/more.py": "new"}, True),
        ([b"tools/boot.sh"], [], {b"tools/more.sh": "new"}, True),
        ([b"package.json"], [], {b"more.txt": "new"}, True),
        ([b"README.md"], [], {b"README.md": "new"}, True),
        ([b"\xff.txt"], [], {b"\xff.txt": "new"}, False),
        ([], [b"src"], {b"src/more.py": "new"}, True),
        ([], [b"src"], {b"src/more/x.py": "new"}, False),
        ([], [b""], {b"top/x.py": "new"}, False),
        ([], [b""], {b"src/pkg/deep/x.py": "new"}, True),
    ],
)
def test_a_file_that_set_up_read_must_be_the_same(
    files: list[bytes], folders: list[bytes], change: dict[bytes, str], *, does_fit: bool
):
    read = inputs_read(files, folders, COMMANDS, TREE)
    assert fits(record(read), {**TREE, **change}) is does_fit


def test_a_removed_file_that_set_up_read_does_not_fit():
    read = inputs_read([b"src/app.py"], [], COMMANDS, TREE)
    left = {path: entry for path, entry in TREE.items() if path != b"src/app.py"}
    assert not fits(record(read), left)


def test_without_access_times_only_the_same_tree_fits():
    assert fits(record(None), dict(TREE))
    assert not fits(record(None), {**TREE, b"src/app.py": "new"})
