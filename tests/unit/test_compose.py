"""docker-compose.yml, as far as a machine without a container engine can tell."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from workers.roles import Role
from workers.settings import Settings

ROOT = Path(__file__).parents[2]
ROLES = ("workflows", "models", "host", "land")
STORE = "store:/var/lib/blueflame/store"
PASSWORDS = {"POSTGRES_PASSWORD": "a", "GRAFANA_PASSWORD": "b"}
PORTS = (16686, 3000, 7233, 8080, 9090)
HOST = "host:/var/lib/blueflame/host"


@pytest.fixture(scope="module")
def services() -> dict[str, dict[str, Any]]:
    return YAML(typ="safe").load((ROOT / "docker-compose.yml").read_text())["services"]


def config(tmp_path: Path, variables: dict[str, str], *, quiet: bool = True) -> tuple[int, str]:
    """Let docker-compose check the file; return its code, and its errors or what it resolved."""
    program = shutil.which("docker-compose")
    if program is None:
        pytest.skip("docker-compose is not installed: apt-get install docker-compose")
    ran = subprocess.run(
        [
            *(program, "--file", str(ROOT / "docker-compose.yml")),
            *("--project-directory", str(tmp_path)),  # where it reads `.env`
            *("config", *(["--quiet"] if quiet else [])),
        ],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    return ran.returncode, ran.stderr if quiet else ran.stdout


def test_docker_compose_accepts_it(tmp_path: Path):
    assert config(tmp_path, PASSWORDS) == (0, "")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("missing", PASSWORDS)
def test_there_is_no_default_password(tmp_path: Path, missing: str):
    code, said = config(tmp_path, {**PASSWORDS, missing: ""})
    assert code != 0
    assert f"copy .env.example to .env and set {missing}" in said


def variables() -> dict[str, str]:
    """Return each variable that the file reads, with its default; empty without one."""
    text = (ROOT / "docker-compose.yml").read_text()
    with_marks = re.findall(r"\$\{([A-Z_]+)(?::-([^}]*)|:\?[^}]*)?\}", text)
    passed = re.findall(r"^ +([A-Z_]+):$", text, re.MULTILINE)
    return dict.fromkeys(passed, "") | dict(with_marks)


def test_the_example_of_an_environment_has_every_variable_and_its_default():
    example = (ROOT / ".env.example").read_text()
    named = dict(re.findall(r"^#?([A-Z_]+)=(.*)$", example, re.MULTILINE))
    assert named.keys() == variables().keys()
    releases = {name: value for name, value in variables().items() if name.endswith("_VERSION")}
    assert releases
    assert releases.items() <= named.items()
    secret = [name for name in named if re.search("KEY|PASSWORD", name)]
    assert {named[name] for name in secret} == {""}


ALLOWED = {
    "POSTGRES_PASSWORD": {"postgresql", "schema", "temporal"},
    "GRAFANA_PASSWORD": {"grafana"},
    "ANTHROPIC_API_KEY": {"models"},
    "OPENAI_API_KEY": {"models"},
    "GEMINI_API_KEY": {"models"},
    "BLUEFLAME_PAYLOAD_KEYS": set(ROLES),
}
"""Which services may know which secret."""


def test_each_secret_reaches_only_the_services_that_need_it(tmp_path: Path):
    values = {name: f"secret-{place}-" for place, name in enumerate(ALLOWED)}
    assert {name for name in variables() if re.search("KEY|PASSWORD", name)} == ALLOWED.keys()
    # As a person gives them: in the file beside which docker-compose is started.
    (tmp_path / ".env").write_text("".join(f"{k}={v}\n" for k, v in values.items()))
    resolved = YAML(typ="safe").load(config(tmp_path, {}, quiet=False)[1])["services"]
    found = {
        name: {each for each, made in resolved.items() if value in json.dumps(made)}
        for name, value in values.items()
    }
    assert found == ALLOWED


def test_every_service_that_stays_is_checked(services: dict[str, dict[str, Any]]):
    jobs = {"schema", "namespace"}  # they end
    without = {name for name, each in services.items() if "healthcheck" not in each} - jobs
    # Its image has no program for it that we could name without trying it.
    assert without == {"jaeger"}
    for role in ROLES:
        test = services[role]["healthcheck"]["test"]
        assert test == ["CMD", "blueflame", "health", "--worker", role]


@pytest.mark.parametrize("role", ROLES)
def test_there_is_a_worker_for_each_role(services: dict[str, dict[str, Any]], role: str):
    worker = services[role]
    assert worker["command"] == ["--roles", role]
    assert worker["environment"]["TEMPORAL_ADDRESS"] == "temporal:7233"
    assert worker["environment"]["BLUEFLAME_DATA_DIR"] == "/var/lib/blueflame"
    assert worker["depends_on"]["namespace"]["condition"] == "service_completed_successfully"
    assert STORE in worker["volumes"]


def test_only_models_have_keys(services: dict[str, dict[str, Any]]):
    with_keys = {
        name
        for name, service in services.items()
        if any(key.endswith("_API_KEY") for key in service.get("environment", {}))
    }
    assert with_keys == {"models"}


def test_only_land_sees_the_users_repository(services: dict[str, dict[str, Any]]):
    seeing = {
        name
        for name, service in services.items()
        if any("BLUEFLAME_REPOSITORY" in volume for volume in service.get("volumes", ()))
    }
    assert seeing == {"land"}


def test_only_host_may_make_namespaces_and_no_service_is_privileged(
    services: dict[str, dict[str, Any]],
):
    assert {name for name, service in services.items() if "security_opt" in service} == {"host"}
    assert all(services[role]["cap_drop"] == ["ALL"] for role in ROLES)
    assert not any("privileged" in service or "cap_add" in service for service in services.values())


def test_volumes_are_where_workers_look():
    settings = Settings(data_dir=Path("/var/lib/blueflame"))
    assert f"store:{settings.store_dir}" == STORE
    assert f"host:{settings.host_dir}" == HOST


def test_only_host_has_worktrees(services: dict[str, dict[str, Any]]):
    assert {name for name, service in services.items() if HOST in service.get("volumes", ())} == {
        "host"
    }


def test_ports_are_published_on_this_machine_only(services: dict[str, dict[str, Any]]):
    published = [port for service in services.values() for port in service.get("ports", ())]
    assert sorted(published) == [f"127.0.0.1:{port}:{port}" for port in PORTS]


def test_prometheus_scrapes_each_role_where_its_worker_serves(
    services: dict[str, dict[str, Any]],
):
    text = (ROOT / "docker" / "prometheus-services.yml").read_text()
    (job,) = YAML(typ="safe").load(text)["scrape_configs"]
    scraped = {each["names"][0]: each["port"] for each in job["dns_sd_configs"]}
    for place, role in enumerate(Role):
        address = services[role]["environment"]["BLUEFLAME_METRICS_ADDRESS"]
        assert scraped.pop(role) == int(address.rpartition(":")[2]) + place
    assert scraped == {}


def test_workers_send_traces_where_jaeger_takes_them(services: dict[str, dict[str, Any]]):
    sent = {services[role]["environment"]["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] for role in ROLES}
    assert sent == {"http://jaeger:4318/v1/traces"}  # its port of OTLP over HTTP, by default
    assert "command" not in services["jaeger"]


def test_grafana_finds_its_sources_and_dashboards(services: dict[str, dict[str, Any]]):
    folder = ROOT / "docker" / "grafana"
    sources = YAML(typ="safe").load(
        (folder / "provisioning" / "datasources" / "metrics-and-traces.yml").read_text()
    )["datasources"]
    hosts = {re.sub(r"https?://([a-z]+):.*", r"\1", each["url"]) for each in sources}
    assert hosts <= set(services)
    (provider,) = YAML(typ="safe").load(
        (folder / "provisioning" / "dashboards" / "dashboards.yml").read_text()
    )["providers"]
    mounted = dict(each.split(":")[:2] for each in services["grafana"]["volumes"])
    assert mounted["./docker/grafana/dashboards"] == provider["options"]["path"]
    uids = {each["uid"] for each in sources}
    for file in (folder / "dashboards").glob("*.json"):
        for panel in json.loads(file.read_text())["panels"]:
            assert panel["type"] == "row" or panel["datasource"]["uid"] in uids, panel["title"]


def test_every_dependency_is_a_service(services: dict[str, dict[str, Any]]):
    for name, service in services.items():
        assert set(service.get("depends_on", {})) <= set(services), name


def test_image_starts_workers_away_from_any_repository():
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    assert 'ENTRYPOINT ["python", "-P", "-m", "workers"]' in lines
    assert lines.index("USER blueflame") < lines.index("WORKDIR /var/lib/blueflame")
