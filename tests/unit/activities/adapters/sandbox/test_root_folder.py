"""What of an unpacked image is shown: pure, on a folder that looks like one."""

import os
from pathlib import Path

import pytest

from activities.adapters.sandbox.blueflame_programs import own_programs
from activities.adapters.sandbox.root_folder import HOST, arguments, started
from activities.ports.sandbox_port import SandboxUnavailableError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("usr/bin", "etc/ssl", "opt/tool", "var/lib", "home/x", "proc", "workspace", "app"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "etc" / "passwd").write_text("theirs")
    (tmp_path / "bin").symlink_to("usr/bin")
    return tmp_path


def pairs(root: Path, *shown: Path) -> set[tuple[str, str]]:
    options = list(arguments(root, shown))
    return {
        (options[at + 2], options[at + 1])
        for at, option in enumerate(options)
        if option in {"--ro-bind", "--symlink"}
    }


def test_folders_of_programs_are_shown_and_the_sandboxs_own_files_are_not_replaced(root: Path):
    assert pairs(root) == {
        ("/usr", f"{root}/usr"),
        ("/app", f"{root}/app"),
        ("/bin", "usr/bin"),
        ("/etc/.image", f"{root}/etc"),
        ("/etc/ssl", ".image/ssl"),
        ("/opt/.image", f"{root}/opt"),
        ("/opt/tool", ".image/tool"),
        ("/var/.image", f"{root}/var"),
        ("/var/lib", ".image/lib"),
    }


def test_a_toolchain_stands_where_the_image_has_something(root: Path):
    assert ("/opt/tool", ".image/tool") not in pairs(root, Path("/opt/tool/v1"))


def test_a_link_at_the_top_leads_the_host_nowhere(root: Path):
    (root / "srv").symlink_to("/etc")
    assert ("/srv", "/etc") in pairs(root)


@pytest.mark.parametrize("name", ["usr", "etc"])
def test_what_is_no_image_is_refused(tmp_path: Path, name: str):
    for each in ("usr", "etc"):
        (tmp_path / each).mkdir()
    (tmp_path / name).rmdir()
    (tmp_path / name).symlink_to("/etc")
    with pytest.raises(SandboxUnavailableError, match=f"no folder '{name}'"):
        list(arguments(tmp_path, ()))


def test_only_the_own_interpreter_is_started_by_the_hosts_loader():
    interpreter = str(own_programs().interpreter)
    assert started(("python3", "-V")) == ("python3", "-V")
    loader, *_, program, option = started((interpreter, "-V"))
    assert (program, option) == (f"{HOST}{interpreter}", "-V")
    assert os.access(loader.removeprefix(HOST), os.X_OK)
