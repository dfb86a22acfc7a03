"""The nightly job of CI only calls `scripts/nightly`, and keeps what it left whatever happens."""

from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]


def steps() -> list[dict[str, Any]]:
    loaded: Any = YAML(typ="safe", pure=True).load(ROOT / ".github" / "workflows" / "nightly.yml")
    (job,) = loaded["jobs"].values()
    return job["steps"]


def test_it_prepares_the_machine_and_calls_the_script() -> None:
    commands = [step["run"] for step in steps() if "run" in step]
    (night,) = [command for command in commands if not command.startswith("sudo ")]
    assert night.startswith("scripts/nightly ")
    # A goal in the command itself would be read as code by the shell.
    assert "${{" not in night


def test_it_keeps_folder_and_data_also_of_a_night_that_failed() -> None:
    after = [step for step in steps() if step.get("if") == "always()"]
    assert [step["uses"].partition("@")[0] for step in after] == [
        "actions/upload-artifact",
        "actions/cache/save",
    ]
