"""The services of docker-compose.yml, as far as this machine has their programs.

Each command, environment and health check is taken from the file, with other addresses and folders.

| service                           | here                                                      |
|-----------------------------------|-----------------------------------------------------------|
| workflows, models, host, land     | the same command, with the bundled server                 |
| namespace                         | the same script, with the bundled server                  |
| prometheus, postgresql            | Debian's programs, started as in the images               |
| web                               | the Web UI of the bundled server, with the same check     |
| temporal, schema                  | not run: the bundled server stands in for them            |
| jaeger, grafana                   | not run, as no package has them; Grafana's files are read |
|                                   | in `tests/unit/test_monitoring_files.py`                  |
"""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import urllib.request
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from starter.views.session_words import web_page
from tests.collector import collecting
from tests.e2e.processes import ROOT
from tests.ports import kept_port
from tests.servers import running_server
from tests.waiting import PATIENCE, text_of, until_blocking
from workers.roles import Role
from workers.server.dev_server import find_program
from workers.temporal.connection import ServerAddress

pytestmark = pytest.mark.e2e

DATA = "/var/lib/blueflame"
ROLES = [
    Role.WORKFLOWS,
    *(pytest.param(role, marks=pytest.mark.slow) for role in Role if role is not Role.WORKFLOWS),
]


def service(name: str) -> dict[str, Any]:
    return YAML(typ="safe").load((ROOT / "docker-compose.yml").read_text())["services"][name]


def entrypoint() -> list[str]:
    (line,) = (
        line for line in (ROOT / "Dockerfile").read_text().splitlines() if "ENTRYPOINT" in line
    )
    return json.loads(line.partition(" ")[2])


class Container:
    """A worker's service, with its folders below another one."""

    def __init__(self, role: Role, folder: Path, server: str, collector: str) -> None:
        self.role = role
        self.folder = folder
        self._service = service(role)
        given = {k: v for k, v in self._service["environment"].items() if v is not None}
        assert given["TEMPORAL_ADDRESS"] == "temporal:7233"
        assert given["BLUEFLAME_METRICS_ADDRESS"] == "0.0.0.0:9464"
        given["TEMPORAL_ADDRESS"] = server
        given["BLUEFLAME_METRICS_ADDRESS"] = "127.0.0.1:0"
        given["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] = collector
        given["BLUEFLAME_DATA_DIR"] = given["BLUEFLAME_DATA_DIR"].replace(DATA, str(folder))
        programs = sysconfig.get_path("scripts")
        # As in the image: its programs, and nothing of the person's.
        path = os.pathsep.join((programs, os.environ["PATH"]))
        self._environment: dict[str, str] = {
            **given,
            "PATH": path,
            "HOME": str(folder),
            "PYTHONPATH": str(ROOT),
        }
        for name in ("", "host", "store"):
            (folder / name).mkdir(mode=0o700, exist_ok=True)

    @contextlib.contextmanager
    def running(self) -> "Generator[subprocess.Popen[bytes]]":
        command = [*entrypoint(), *self._service["command"]]
        assert command[0] == "python"
        with (self.folder / "said").open("wb") as said:
            process = subprocess.Popen(
                [sys.executable, *command[1:]],
                cwd=self.folder,
                env=self._environment,
                stdout=said,
                stderr=said,
            )
            try:
                yield process
            finally:
                process.kill()
                process.wait(PATIENCE)

    def check(self) -> tuple[int, str]:
        """Run the health check once."""
        kind, program, *arguments = self._service["healthcheck"]["test"]
        assert kind == "CMD"
        found = shutil.which(str(program), path=self._environment["PATH"])
        assert found is not None
        ran = subprocess.run(
            [found, *arguments],
            cwd=self.folder,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        return ran.returncode, ran.stdout + ran.stderr

    def metrics(self) -> str:
        """Return what the worker serves at the address that it says."""
        said = (self.folder / "said").read_text()
        address = said.partition("metrics at ")[2].splitlines()[0]
        return served(address)


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.slow
def test_a_workers_service_is_healthy_until_it_ends(
    role: Role, tmp_path: Path, temporal_server: ServerAddress
) -> None:
    with collecting() as (_, collector):
        container = Container(role, tmp_path / "blueflame", temporal_server.address, collector)
        code, said = container.check()
        assert (code, role in said) == (1, True)  # before its start
        with container.running() as process:
            seen = lambda: (container.check(), text_of(container.folder / "said"))  # noqa: E731
            until_blocking(lambda: container.check()[0] == 0, "it is healthy", seen=seen)
            # An idle worker has none until Temporal's SDK tells its first ones.
            until_blocking(lambda: "blueflame_" in container.metrics(), "it serves metrics")
            process.terminate()
            assert process.wait(PATIENCE) == 0
            code, said = container.check()
            assert (code, "no worker of role" in said) == (1, True)


def test_the_namespace_is_made_once(temporal_server: ServerAddress) -> None:
    job = service("namespace")
    (script,) = job["command"]
    script = script.replace("$$", "$").replace("-n default", "-n elsewhere")
    assert script.count("-n elsewhere") == 2
    variables = {
        **job["environment"],
        "TEMPORAL_ADDRESS": temporal_server.address,
        "PATH": os.pathsep.join((sysconfig.get_path("scripts"), os.environ["PATH"])),
        "HOME": "/nonexistent",
    }
    made = [
        subprocess.run(
            [*job["entrypoint"], script],
            env=variables,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        for _ in range(2)
    ]
    assert [each.returncode for each in made] == [0, 0], made
    # The second time, it is there.
    assert [each.stdout != "" for each in made] == [True, False], made


@pytest.mark.slow
def test_prometheus_is_healthy_until_it_ends(tmp_path: Path) -> None:
    program = shutil.which("prometheus")
    if program is None:
        pytest.skip("prometheus is not installed: apt-get install prometheus")
    place = service("prometheus")
    assert "command" not in place  # the image's: it reads this file
    for volume in place["volumes"][:2]:
        source, target, _ = volume.split(":")
        assert Path(target).parent == Path("/etc/prometheus")
        shutil.copy(ROOT / source, tmp_path / Path(target).name)
    with kept_port() as port, (tmp_path / "said").open("wb") as said:
        process = subprocess.Popen(
            [
                *(program, f"--config.file={tmp_path / 'prometheus.yml'}"),
                f"--storage.tsdb.path={tmp_path / 'data'}",
                f"--web.listen-address=127.0.0.1:{port}",
            ],
            stdout=said,
            stderr=said,
        )
        try:
            until_blocking(lambda: checked(place, port) == 0, "it is healthy")
            rules = lambda: groups_at(port)  # noqa: E731
            until_blocking(lambda: rules() == ["blueflame"], "it has the rules", seen=rules)
        finally:
            process.terminate()
            process.wait(PATIENCE)
        assert checked(place, port) != 0


@pytest.mark.slow
def test_the_web_ui_is_healthy_until_it_ends(tmp_path: Path) -> None:
    """Its image has the program that is part of the bundled server."""
    place = service("web")
    assert "command" not in place  # the image's
    with running_server(tmp_path) as address:
        port = int(address.ui.rpartition(":")[2])
        until_blocking(lambda: checked(place, port) == 0, "it is healthy")
        begun = ("workflow", "start", "--workflow-id=session/1", "--type=any", "--task-queue=any")
        command = [str(find_program()), *begun, f"--address={address.address}"]
        subprocess.run(
            command,
            env={"HOME": str(tmp_path)},
            check=True,
            capture_output=True,
            timeout=PATIENCE,
        )
        page = served(web_page(address.ui, "1"))
        script = re.search(r'"(/_app/[^"]+\.js)"', page)
        assert script is not None, page
        assert "import" in served(address.ui + script[1])
        # The Web UI may have asked for its server too early, and tries again after some seconds.
        shown = lambda: type_at(web_page(f"{address.ui}/api/v1", "1"))  # noqa: E731
        until_blocking(lambda: shown() == "any", "its page shows the workflow", seen=shown)
    assert checked(place, port) != 0


@pytest.mark.slow
@pytest.mark.sandbox
def test_the_database_is_healthy_until_it_ends(tmp_path: Path) -> None:
    """In its image, `docker-entrypoint.sh` also begins with `initdb` and then starts `postgres`."""
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not programs:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    place = service("postgresql")
    kind, *check = place["healthcheck"]["test"]
    assert (kind, check[0], "command" in place) == ("CMD", "pg_isready", False)
    users, data = tmp_path / "passwd", tmp_path / "data"
    # As in the image, its user has a name; the user who runs the tests may have none.
    users.write_text(f"postgres:x:{os.getuid()}:{os.getgid()}::{tmp_path}:/bin/sh\n")
    named = ("bwrap", "--die-with-parent", "--dev-bind", "/", "/")
    named = (*named, "--ro-bind", str(users), "/etc/passwd")
    owner = ("--username", place["environment"]["POSTGRES_USER"], "--auth", "trust")
    made = [*named, str(programs[-1] / "initdb"), *owner, "--pgdata", str(data)]
    subprocess.run(made, check=True, capture_output=True, timeout=PATIENCE)
    with kept_port() as port, (tmp_path / "said").open("wb") as said:
        variables = {"PATH": str(programs[-1]), "PGHOST": str(tmp_path), "PGPORT": str(port)}
        healthy = lambda: subprocess.run(check, env=variables, check=False).returncode == 0  # noqa: E731
        assert not healthy()
        ways = ("-D", str(data), "-k", str(tmp_path), "-p", str(port), "-h", "")
        process = subprocess.Popen(
            [*named, str(programs[-1] / "postgres"), *ways], stdout=said, stderr=said
        )
        try:
            until_blocking(healthy, "it is healthy", seen=lambda: text_of(tmp_path / "said"))
        finally:
            process.terminate()
            process.wait(PATIENCE)
        until_blocking(lambda: not healthy(), "it is healthy no more")


def served(address: str) -> str:
    """Return what is at an address; one that is refused is an error."""
    with urllib.request.urlopen(address, timeout=PATIENCE) as answer:
        return answer.read().decode()


def type_at(address: str) -> str | None:
    """Return the type of the workflow that the Web UI describes; None while it has no server."""
    with contextlib.suppress(OSError):
        return json.loads(served(address))["workflowExecutionInfo"]["type"]["name"]
    return None


def groups_at(port: int) -> list[str]:
    """Name the groups of rules that Prometheus has; none while it is healthy but not ready."""
    address = f"http://127.0.0.1:{port}/api/v1/rules"
    with contextlib.suppress(OSError), urllib.request.urlopen(address, timeout=PATIENCE) as answer:
        return [each["name"] for each in json.load(answer)["data"]["groups"]]
    return []


def checked(place: dict[str, Any], port: int) -> int:
    """Run a health check of the service's published port at another one, and return its code."""
    kind, program, *arguments = place["healthcheck"]["test"]
    assert (kind, program) == ("CMD", "wget")
    if shutil.which("wget") is None:
        pytest.skip("wget is not installed: apt-get install wget")
    ((_, _, inside),) = (each.split(":") for each in place["ports"])
    asked = [each.replace(f"127.0.0.1:{inside}/", f"127.0.0.1:{port}/") for each in arguments]
    assert asked != arguments
    return subprocess.run([program, *asked], timeout=PATIENCE, check=False).returncode
