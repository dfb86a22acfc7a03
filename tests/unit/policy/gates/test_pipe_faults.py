"""Commands whose exit code is that of a pipe's last member are warned of."""

import pytest

from workflows.policy.gates.pipe_faults import pipe_fault


@pytest.mark.parametrize(
    "argv",
    [
        ("sh", "-c", "false | tail -1"),
        ("/bin/bash", "-c", "a && b|c"),
        ("bash", "-lc", "a |& b"),
        ("env", "X=1", "bash", "-ec", "a | b"),
        ("timeout", "10", "sh", "-c", 'echo "x|y" | cat'),
        ("bash", "-c", "set -e; a | b"),
        ("bash", "-c", r"echo \\| cat"),
    ],
)
def test_an_unguarded_pipe_is_warned_of(argv: tuple[str, ...]):
    """Field report R35."""
    fault = pipe_fault(argv)
    assert fault is not None
    assert "pipefail" in fault


@pytest.mark.parametrize(
    "argv",
    [
        ("pytest", "-q", "-k", "a|b"),
        ("sh", "script.sh"),
        ("sh",),
        ("sh", "-c"),
        ("sh", "-c", "a || b"),
        ("sh", "-c", "echo 'a | b'"),
        ("sh", "-c", 'echo "a | \\" | b"'),
        ("sh", "-c", r"echo a \| b"),
        ("sh", "-c", "echo x >| f"),
        ("bash", "-o", "pipefail", "-c", "a | b"),
        ("bash", "-eo", "pipefail", "-c", "a | b"),
        ("bash", "-c", "set -o pipefail; a | b"),
        ("bash", "-c", "set -euo pipefail\na | b"),
        ("bash", "-c", "set -e -o pipefail && a | b"),
    ],
)
def test_other_commands_are_not(argv: tuple[str, ...]):
    assert pipe_fault(argv) is None
