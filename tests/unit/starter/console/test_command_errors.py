"""`starter.console.command_errors`: what is told instead of a traceback, and what is not."""

import pytest
from pydantic import BaseModel, Field, ValidationError
from temporalio.service import RPCError, RPCStatusCode

from starter.console.command_errors import CommandError, explained
from starter.console.exit_codes import ExitCode


class _Short(BaseModel):
    text: str = Field(max_length=3)


def _told(error: Exception) -> tuple[str, ExitCode]:
    known = explained(error)
    assert known is not None
    return str(known), known.code


def test_our_own_errors_stand_for_themselves() -> None:
    assert _told(CommandError("so it is", ExitCode.STALE)) == ("so it is", ExitCode.STALE)


def test_a_value_that_is_refused_is_named_and_not_repeated() -> None:
    with pytest.raises(ValidationError) as refused:
        _Short(text="a canary")
    told = ("text: String should have at most 3 characters", ExitCode.USAGE)
    assert _told(refused.value) == told


def test_the_systems_errors_name_the_file() -> None:
    text, code = _told(PermissionError(13, "Permission denied", "/data"))
    assert text.startswith("Permission denied: '/data'; give this account the right")
    assert code is ExitCode.FAILED
    assert _told(OSError(28, "No space left on device"))[0].endswith("free some space")
    assert _told(OSError("odd"))[0] == "odd; `doctor` tells what is missing here"


def test_temporal_is_unavailable() -> None:
    text, code = _told(RPCError("gone", RPCStatusCode.UNAVAILABLE, b""))
    assert text.startswith("Temporal: gone")
    assert code is ExitCode.UNAVAILABLE


def test_a_fault_of_the_program_is_none_of_these() -> None:
    assert explained(KeyError("x")) is None


@pytest.mark.parametrize(
    ("variables", "is_full"),
    [
        # A file system without any free byte.
        ({"BLUEFLAME_DATA_DIR": "/proc"}, True),
        ({"BLUEFLAME_DATA_DIR": "/proc", "TEMPORAL_ADDRESS": "there.invalid:7233"}, False),
        ({"BLUEFLAME_DATA_DIR": "/proc", "BLUEFLAME_TEMPORAL_PORT": "none"}, False),
    ],
)
def test_says_that_the_bundled_server_failed_on_a_full_disk(
    variables: dict[str, str], is_full: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    text, code = _told(RPCError("shard status unknown", RPCStatusCode.UNAVAILABLE, b""))
    assert ("the disk is full: 0.0 MB are free" in text, code) == (is_full, ExitCode.UNAVAILABLE)
