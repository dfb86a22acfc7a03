"""Tries the simulator with command-line agents of others: `scripts/foreign_clients`.

npm installs Claude Code, Codex and Gemini CLI in fixed versions into a temporary folder, without
their install scripts. Each then holds one conversation with `simulate`: two turns, and one tool
call that really runs. It has an empty home, a key that is not one, and a network with nothing but
the simulator (`unshare`).

The last line of standard output is, with `--json`: clients, conversations_completed. The exit code
is 1 if a conversation was not completed, and 3 if the clients could not be tried at all.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks.foreign_clients.foreign_client_table import CLIENTS, Client

_ROOT: Final = Path(__file__).resolve().parents[2]
_NEEDED: Final = ("node", "npm", "unshare")
_ALONE: Final = (
    *("unshare", "--user", "--map-current-user", "--keep-caps", "--net"),
    *("--pid", "--fork", "--kill-child"),
)
CANNOT: Final = 3


class CannotTryError(Exception):
    """A program or a package is missing; the text says which."""


def main(words: Sequence[str]) -> int:
    """Try what is asked for; return the exit code."""
    options = _options(words)
    clients = [each for each in CLIENTS if options.only in {None, each.name}]
    with tempfile.TemporaryDirectory(
        prefix="blueflame-clients-", ignore_cleanup_errors=True
    ) as top:
        packages = options.packages or Path(top, "packages")
        try:
            install(clients, packages, Path(top, "npm"))
            found = {each.name: _faults(each, packages, Path(top)) for each in clients}
        except CannotTryError as error:
            print(error, file=sys.stderr)
            return CANNOT
    completed = sum(not faults for faults in found.values())
    if options.json:
        print(json.dumps({"clients": len(clients), "conversations_completed": completed}))
    return 0 if completed == len(clients) else 1


def install(clients: Sequence[Client], packages: Path, cache: Path) -> None:
    """Install clients with npm; what is there already is kept.

    Raises:
        CannotTryError: a program is missing, or npm failed.
    """
    missing = [name for name in _NEEDED if shutil.which(name) is None]
    if missing:
        raise CannotTryError(f"not on PATH: {', '.join(missing)}; install it and try again")
    packages.mkdir(parents=True, exist_ok=True)
    wanted = [f"{each.package}@{each.version}" for each in clients]
    quiet = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier")
    done = subprocess.run(
        ("npm", "install", "--prefix", str(packages), "--cache", str(cache), *quiet, *wanted),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise CannotTryError(f"npm cannot install {', '.join(wanted)}: {done.stderr[-1000:]}")


def _faults(client: Client, packages: Path, top: Path) -> list[str]:
    print(f"{client.name} {client.version} …", file=sys.stderr, flush=True)
    folder = top / client.name
    folder.mkdir()
    module = ("-m", "benchmarks.foreign_clients.foreign_conversation")
    command = (sys.executable, "-P", *module, client.name, str(packages.resolve()), str(folder))
    done = subprocess.run(
        (*_ALONE, *command),
        cwd=_ROOT,
        env={**os.environ, "PYTHONPATH": str(_ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise CannotTryError(f"{client.name} cannot be tried: {done.stderr[-2000:]}")
    faults: list[str] = json.loads(done.stdout.splitlines()[-1])
    print(f"{client.name}: {'; '.join(faults) or 'completed'}", flush=True)
    return faults


def _options(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/foreign_clients",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", choices=[each.name for each in CLIENTS], help="try one")
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    parser.add_argument(
        "--packages", type=Path, metavar="DIR", help="install there, and keep it for the next time"
    )
    return parser.parse_args(words)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
