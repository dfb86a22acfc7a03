from pathlib import Path

import pytest

from activities.adapters.sandbox.bubblewrap import BubblewrapSandbox
from activities.adapters.sandbox.bwrap_probe import explain


@pytest.mark.parametrize(
    ("complaint", "fix"),
    [
        ("bwrap: setting up uid map: Permission denied\n", "apparmor_restrict_unprivileged_userns"),
        ("bwrap: No permissions to creating new namespace, likely …", "unprivileged_userns_clone"),
        ("bwrap: Creating new namespace failed: Operation not permitted", "user_namespaces"),
        ("bwrap: Can't mount proc on /newroot/proc: Operation not permitted", "systempaths"),
        ("bwrap: Unknown option --disable-userns", "0.8 or later"),
        ("bwrap: Can't find source path /root/x: Permission denied", "chmod o+x"),
        ("something new\n", "something new"),
        ("", "without a word"),
    ],
)
def test_a_complaint_is_answered_with_what_to_do(complaint: str, fix: str):
    assert fix in explain(complaint)


async def test_a_missing_program_is_said_and_not_raised():
    probe = await BubblewrapSandbox(program="no-such-bwrap").probe()
    assert not probe.usable
    assert probe.reason is not None
    assert "apt-get install bubblewrap" in probe.reason


async def test_a_program_that_does_not_hold_is_not_usable(tmp_path: Path):
    fake = tmp_path / "bwrap"
    fake.write_text('#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done; shift; exec "$@"\n')
    fake.chmod(0o755)
    probe = await BubblewrapSandbox(program=str(fake)).probe()
    assert not probe.usable
    assert probe.reason is not None
    assert "does not hold" in probe.reason


async def test_an_old_version_is_warned_of():
    probe = await BubblewrapSandbox().probe()
    is_old = tuple(map(int, probe.name.split()[1].split("."))) < (0, 12)
    assert any("CVE-2026-87766" in one for one in probe.warnings) is is_old
