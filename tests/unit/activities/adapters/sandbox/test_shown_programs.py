import sys
from pathlib import Path

from activities.adapters.sandbox.shown_programs import default_toolchain, interpreter_prefixes


def test_every_link_on_the_way_to_the_interpreter_is_shown(tmp_path: Path):
    real = tmp_path / "python-3.11.9"
    (real / "bin").mkdir(parents=True)
    (real / "bin" / "python3").touch()
    alias = tmp_path / "python-3.11"
    alias.symlink_to(real)
    venv = tmp_path / "venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "bin" / "python").symlink_to("python3")
    (venv / "bin" / "python3").symlink_to(alias / "bin" / "python3")
    found = interpreter_prefixes(str(venv / "bin" / "python"), str(venv), str(real))
    assert found == (venv, real, alias)


def test_what_lies_under_usr_needs_no_bind():
    assert interpreter_prefixes("/usr/bin/python3", "/usr", "/usr") == ()


def test_ours_is_among_them():
    prefixes = default_toolchain()
    assert sys.prefix.startswith("/usr") or Path(sys.prefix) in prefixes
    assert Path("/") not in prefixes
