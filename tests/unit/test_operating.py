"""docs/operating.md: what a person who keeps Blue Flame running must find in it."""

import re
from pathlib import Path

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "operating.md").read_text("utf-8")
RULES = YAML(typ="safe").load((ROOT / "docker" / "alerts.yml").read_text())
ALERTS = list(dict.fromkeys(rule["alert"] for rule in RULES["groups"][0]["rules"]))
CHORES = ("Install", "Size", "Secure", "Watch", "Alerts", "Upgrade", "Back up and restore")
ENOUGH = 150
"""Characters of a paragraph that says what it means and what to do."""


def under(heading: str) -> str:
    """Return the text between a heading and the next one of any level."""
    _, found, after = PAGE.partition(f"\n{heading}\n")
    assert found, f"there is no {heading!r}"
    return re.split(r"^##+ ", after, maxsplit=1, flags=re.MULTILINE)[0]


@pytest.mark.parametrize("chore", CHORES)
def test_each_chore_has_its_section(chore: str) -> None:
    assert len(under(f"## {chore}")) > ENOUGH


def test_the_chores_are_named_at_the_top() -> None:
    top = PAGE.partition("\n## ")[0]
    assert re.findall(r"\(#([a-z-]+)\)", top) == [
        chore.lower().replace(" ", "-") for chore in CHORES
    ]


@pytest.mark.parametrize("alert", ALERTS)
def test_each_alert_has_its_paragraph(alert: str) -> None:
    text = under(f"### {alert}")
    assert len(text) > ENOUGH
    assert "`" in text, "it names no command or setting"


def test_no_paragraph_is_of_an_alert_that_is_gone() -> None:
    assert re.findall(r"^### (Blueflame\w+)$", PAGE, re.MULTILINE) == ALERTS
