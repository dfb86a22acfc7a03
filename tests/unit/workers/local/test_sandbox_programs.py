"""`workers.local.sandbox_programs` finds what the sandbox shows, and nothing else."""

from pathlib import Path

from workers.local.sandbox_programs import find_in_sandbox
from workflows.domain.environment import ProjectEnvironment


def test_finds_programs_of_the_system_and_the_interpreter():
    assert find_in_sandbox("sh") is not None
    assert find_in_sandbox("python") is not None
    assert find_in_sandbox("no-such-program") is None


def test_with_a_root_folder_its_programs_count_and_no_others(tmp_path: Path):
    (tmp_path / "usr" / "bin").mkdir(parents=True)
    (tmp_path / "usr" / "bin" / "judge").symlink_to("/etc/alternatives/judge")
    environment = ProjectEnvironment(root=str(tmp_path))
    assert find_in_sandbox("judge", environment) is not None
    assert find_in_sandbox("sh", environment) is None
