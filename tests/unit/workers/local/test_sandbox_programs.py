"""`workers.local.sandbox_programs` finds what the sandbox shows, and nothing else."""

from workers.local.sandbox_programs import find_in_sandbox


def test_finds_programs_of_the_system_and_the_interpreter():
    assert find_in_sandbox("sh") is not None
    assert find_in_sandbox("python") is not None
    assert find_in_sandbox("no-such-program") is None
