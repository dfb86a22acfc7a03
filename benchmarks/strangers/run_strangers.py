"""Tries Blue Flame on released projects of third parties: `scripts/strangers`.

Each project is fetched by its package's name and becomes a git repository. A user then runs `init`,
`doctor --repo` and a session on it, with the gates that `init` wrote. The models' answers come from
a playbook; everything else is real. Each user starts with an empty home, and adds the lines that
`init` prints to their own configuration.

To fetch a Python release, pip asks the release's own build system what it needs. That runs outside
the sandbox, as the user who starts this script.

The last line of standard output is, with `--json`:
projects, gates_that_judged, sessions_complete, hand_edits, checkouts_identical. A project counts if
it succeeded for every user who tried it. The exit code is 1 if anything failed.
"""

import argparse
import contextlib
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Generator, Sequence
from pathlib import Path
from types import FrameType
from typing import Final

from benchmarks.strangers.stranger_archives import make_repository
from benchmarks.strangers.stranger_course import Course
from benchmarks.strangers.stranger_people import Person, myself, ordinary_user
from benchmarks.strangers.stranger_projects import PROJECTS
from benchmarks.strangers.stranger_results import Result, faults, summary, table
from benchmarks.strangers.stranger_shape import Project

_ROOT: Final = Path(__file__).resolve().parents[2]


def main(words: Sequence[str]) -> int:
    """Try the requested projects; return the exit code."""
    options = _options(words)
    signal.signal(signal.SIGTERM, _end)
    with _scratch(keep=options.keep) as scratch, _people(options.user, scratch) as people:
        archives = options.archives or scratch / "archives"
        results = [
            _try(project, person, scratch, archives)
            for project in _chosen(options.only)
            for person in people
        ]
    print(table(results))
    for line in faults(results):
        print(line)
    if options.json:
        print(summary(results))
    return 0 if all(each.is_well for each in results) else 1


def _end(number: int, _: FrameType | None) -> None:
    """Raise an exception, so that users and folders are removed."""
    sys.exit(128 + number)


def _options(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/strangers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = ", ".join(each.name for each in PROJECTS)
    parser.add_argument("--only", metavar="NAME,…", help=f"some of: {names}")
    parser.add_argument("--user", choices=("root", "ordinary", "both"), default="both")
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    parser.add_argument("--keep", action="store_true", help="keep the folder with what was made")
    parser.add_argument(
        "--archives", type=Path, metavar="DIR", help="keep what is fetched, and look there first"
    )
    options = parser.parse_args(words)
    unknown = {*(options.only or "").split(",")} - {each.name for each in PROJECTS} - {""}
    if unknown:
        parser.error(f"no project is called {', '.join(sorted(unknown))}; there are: {names}")
    if os.getuid() != 0 and options.user != "ordinary":
        parser.error(
            "only root can run as root and create a user: start as root, or with --user ordinary"
        )
    return options


def _chosen(only: str | None) -> list[Project]:
    wanted = only.split(",") if only else [each.name for each in PROJECTS]
    return [each for each in PROJECTS if each.name in wanted]


@contextlib.contextmanager
def _scratch(*, keep: bool) -> Generator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="blueflame-strangers-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        if keep:
            print(f"kept: {folder}", file=sys.stderr)
        else:
            shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _people(wanted: str, scratch: Path) -> Generator[list[Person]]:
    with contextlib.ExitStack() as stack:
        people = [myself()] if wanted != "ordinary" or os.getuid() != 0 else []
        if wanted != "root" and os.getuid() == 0:
            people.append(stack.enter_context(ordinary_user(scratch, _ROOT)))
        yield people


def _try(project: Project, person: Person, scratch: Path, archives: Path) -> Result:
    print(f"{project.name} as {person.kind} …", file=sys.stderr, flush=True)
    folder = scratch / f"{project.name}-{person.kind}"
    folder.mkdir()
    course = Course(project, person, folder)
    try:
        make_repository(project, archives, folder / "repository", scratch / "tools")
        course.take()
    except Exception as error:  # noqa: BLE001 (what fails here must not stop the others)
        course.result.faults.append(str(error) or repr(error))
    for line in (table([course.result]).splitlines()[-1], *faults([course.result])):
        print(line, file=sys.stderr, flush=True)
    return course.result


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
