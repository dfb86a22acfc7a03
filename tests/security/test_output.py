"""Output of a command that would drive a person's terminal: what is shown of it cannot."""

import unicodedata
from pathlib import Path

import pytest

from activities.adapters.git.worktrees.collected_names import shown as shown_path
from activities.adapters.sandbox.bubblewrap import BubblewrapSandbox
from activities.gates.output_excerpt import excerpt
from activities.ports.sandbox_port import SandboxCommand, Workspace
from starter.console.terminal import shown

ATTACKS = {
    "clears the screen": r"\e[2J\e[H",
    "colours what follows": r"\e[8;30;40m",
    "sets the title": r"\e]0;evil\a",
    "writes the clipboard": r"\e]52;c;ZXZpbA==\a",
    "links elsewhere": r"\e]8;;http://evil.invalid\e\\here\e]8;;\e\\",
    "asks for an answer that is typed": r"\e[6n\e[c",
    "defines a key": r"\eP1;1|17/0d\e\\",
    "uses one-byte controls": r"\u009b2J\u009d0;evil\u009c",
    "rings": r"\a\a\a",
    "goes back over what was written": r"fine\b\b\b\bevil",
    "overwrites the line": r"fine\revil",
    "holds NUL": r"fine\0evil",
    "turns the direction": r"\u202eevil\u2066evil\u2069",
    "changes the character set": r"\e(0\x0e",
    "opens a sequence and never ends it": r"\e]0;",
    "separates lines otherwise": r"fine\u2028evil\u0085evil",
}


def commanding(text: str) -> list[str]:
    """Return what of a text would act on a terminal."""
    kinds = {"Cc", "Cf", "Zl", "Zp"}
    return [c for c in text if c not in "\n\t" and unicodedata.category(c) in kinds]


@pytest.mark.parametrize("attack", [pytest.param(one, id=name) for name, one in ATTACKS.items()])
async def test_output_drives_no_terminal(attack: str, tmp_path: Path):
    command = SandboxCommand(
        argv=("bash", "-c", f"printf '%b' '{attack}'"), workspace=Workspace(path=tmp_path)
    )
    output = (await BubblewrapSandbox().run(command)).output
    raw = output.decode("utf-8", "replace")
    assert commanding(raw), "the attack itself is harmless"
    assert commanding(excerpt(output)) == []
    assert commanding(shown(raw)) == []
    assert commanding(shown_path(output)) == []
