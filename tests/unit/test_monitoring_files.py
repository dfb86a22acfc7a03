"""Files for Grafana, against the forms that its documentation demands.

Debian has no package of it, so nothing here runs it: the forms are those of its pages "Provision
Grafana" and "Dashboard JSON model". The rules and configurations of Prometheus are loaded by
Prometheus itself in other tests.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

GRAFANA = Path(__file__).parents[2] / "docker" / "grafana"
DASHBOARDS = sorted((GRAFANA / "dashboards").glob("*.json"))
COLUMNS = 24


def yaml(path: Path) -> dict[str, Any]:
    return YAML(typ="safe").load(path.read_text())


def provisioned(kind: str, key: str) -> list[dict[str, Any]]:
    """Return the entries of Grafana's files of one kind."""
    files = [yaml(path) for path in sorted((GRAFANA / "provisioning" / kind).glob("*.yml"))]
    assert [each["apiVersion"] for each in files] == [1] * len(files)
    return [entry for each in files for entry in each[key]]


def test_the_sources_of_data_are_complete() -> None:
    sources = provisioned("datasources", "datasources")
    for each in sources:
        assert each.keys() >= {"name", "type", "uid", "access", "url"}
        assert each["access"] == "proxy"
        assert re.fullmatch(r"http://[a-z]+:\d+", each["url"])
        assert each.keys().isdisjoint({"secureJsonData", "basicAuthPassword"})
    assert len({each["uid"] for each in sources}) == len(sources)
    assert [each["name"] for each in sources if each.get("isDefault")] == ["Prometheus"]


def test_dashboards_come_from_files() -> None:
    (provider,) = provisioned("dashboards", "providers")
    assert provider["type"] == "file"
    assert Path(provider["options"]["path"]).is_absolute()


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_a_dashboard_is_one_that_grafana_imports(path: Path) -> None:
    found = json.loads(path.read_text())
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,40}", found["uid"])
    assert found["title"]
    assert found["schemaVersion"] >= 36
    assert found.get("id") is None  # Grafana gives it
    panels = found["panels"]
    assert len({each["id"] for each in panels}) == len(panels)
    for each in panels:
        at = each["gridPos"]
        assert 0 <= at["x"] < at["x"] + at["w"] <= COLUMNS, each["title"]
        targets = each.get("targets", [])
        assert len({target["refId"] for target in targets}) == len(targets), each["title"]


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_no_panel_covers_another(path: Path) -> None:
    panels = json.loads(path.read_text())["panels"]
    taken = [
        (x, y)
        for at in (each["gridPos"] for each in panels)
        for x in range(at["x"], at["x"] + at["w"])
        for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(taken) == len(set(taken))


def test_there_are_dashboards() -> None:
    assert len({json.loads(path.read_text())["uid"] for path in DASHBOARDS}) == len(DASHBOARDS) > 0
