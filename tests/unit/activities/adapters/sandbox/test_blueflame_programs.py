import sys
from pathlib import Path

from activities.adapters.sandbox.blueflame_programs import (
    interpreter_prefixes,
    own_programs,
    worker_prefixes,
)


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


def test_this_environments_prefix_is_among_them():
    prefixes = worker_prefixes()
    assert sys.prefix.startswith("/usr") or Path(sys.prefix) in prefixes
    assert Path("/") not in prefixes


def test_of_our_own_installation_only_the_bare_interpreter_is_shown():
    own = own_programs()
    assert not own.interpreter.is_symlink()
    shown = (Path("/usr"), *own.prefixes)
    assert any(own.interpreter.is_relative_to(place) for place in shown)
    is_in_a_virtual_environment = sys.prefix != sys.base_prefix
    assert bool(own.hidden) is not is_in_a_virtual_environment
    assert not is_in_a_virtual_environment or Path(sys.prefix) not in own.prefixes
