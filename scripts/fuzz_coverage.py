"""Fuzz the project's own code, guided by its coverage: each property below is a target of atheris.

libFuzzer keeps its inputs per property in `.hypothesis/coverage`, and continues with them the next
time. A failing case is stored in hypothesis' own database, so that pytest repeats it. The grammar
of bash is C and has no coverage here; the code around the grammar has.

Usage: scripts/fuzz --coverage (FUZZ_SECONDS for all together)
"""

import importlib
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGETS = (
    "activities.adapters.shell.test_fuzz:test_any_text_is_read_or_unreadable_and_always_the_same",
    "activities.adapters.shell.test_fuzz:test_random_bytes_are_read_or_unreadable",
    "activities.adapters.shell.test_fuzz:test_nothing_in_front_hides_a_denied_command",
    "activities.adapters.shell.test_corpus:test_a_denied_command_stays_denied_in_any_wrapping",
    "policy.commands.test_file_arguments:test_what_may_be_written_is_claimed_and_not_protected",
    "policy.plan.test_claims:test_any_claim_is_refused_or_decides_about_any_path",
    "policy.review.test_diff_rules:test_what_passes_keeps_every_rule",
    "policy.text.test_secret_patterns:test_any_text_is_taken_and_finds_are_in_order",
    "activities.text.test_redaction:test_no_known_value_is_left",
    "activities.adapters.models.scripted.test_playbook:test_any_text_is_a_playbook_or_a_complaint",
    "policy.plan.test_plan_check:test_whatever_is_submitted_is_a_plan_or_faults",
    "starter.configuration.test_file_shape:test_any_text_is_read_or_refused_with_its_place",
)
"""Properties that need no fixtures and start no programs."""


def search(target: str, seconds: int) -> None:
    """Search one property in this process, which ends with it."""
    atheris = importlib.import_module("atheris")  # not in the lock, so it has no types
    importlib.import_module("tests.conftest")  # where failing cases are stored
    with atheris.instrument_imports(include=["activities", "starter", "workflows"]):
        module, _, name = target.partition(":")
        test = getattr(importlib.import_module(f"tests.unit.{module}"), name)
    kept = ROOT / ".hypothesis" / "coverage" / name
    kept.mkdir(parents=True, exist_ok=True)
    options = [
        f"-max_total_time={seconds}",
        "-verbosity=0",
        f"-artifact_prefix={kept}.",
        "-timeout=60",
    ]
    atheris.Setup([sys.argv[0], *options, str(kept)], test.hypothesis.fuzz_one_input)
    atheris.Fuzz()


def main() -> int:
    """Search each property in its own process; return 1 if one failed."""
    seconds = max(1, int(os.environ.get("FUZZ_SECONDS", "60")) // len(TARGETS))
    failed = [
        target
        for target in TARGETS
        if subprocess.run(
            [sys.executable, "-P", __file__, target, str(seconds)], check=False
        ).returncode
    ]
    for target in failed:
        print(f"fuzz: {target} failed; scripts/fuzz -k {target.partition(':')[2]} repeats it")
    return bool(failed)


if __name__ == "__main__":
    if sys.argv[1:]:
        search(sys.argv[1], int(sys.argv[2]))
    sys.exit(main())
