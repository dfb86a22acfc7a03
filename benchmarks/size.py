"""Large histories and long sessions: what grows with them, beside how it was before.

The jobs of role host and land run with real git, without a server; each key has a `baseline_` key
from the same run, for which the same job is done as it was before: a base bundled whole in memory,
a branch bundled since its base at each advance, unreferenced objects unpacked at a clean-up, a
continuation for which nothing begins until all has ended. Whole sessions run with scripted models.

Keys of the last line:
    first_call_500mb_s      seconds from the start of a session to its first model call, on a host
                            that never saw the repository
    second_call_500mb_s     the same for the next session, on the same commit
    import_500mb_cpu_s      the processor time that the first session took more than the second
    cut_                    before these three: the same with `worktree.history: 1`
    import_500mb_s          seconds from an empty host until the base is named there
    import_again_500mb_s    the same for a second session on the same base
    disk_per_new_base_mb    more on disk, host and store, after one more commit of one file
    peak_worker_mb          the most memory that a process of role land or host held for it
    merge_wave_s_last_over_first        merge, advance and delivery of the last ten tasks of 300
                            over that of the first ten; medians
    store_bytes_per_task_300_over_30    bytes in the store a task, after 300 over after 30
    cleanup_growth_mb       how much larger a clean-up makes a repository whose packs hold work
                            that no session needs any more; negative: it became smaller
    turns_per_s_20_sessions turns a second of 20 sessions at once, each of one task of 12 turns; the
                            baseline is 20 workflows of as many turns, each of two empty activities
    cpu_ms_per_turn         processor time of server, workers and what they start, in those; the
                            baseline likewise
    cpu_ms_per_turn_host_200_over_10    what a turn costs the host in a session of 200 tasks over
                            one of 10, each task of the same turns
    idle_gap_s              the longest time without a new wave in a session of 40 tasks, one of
                            which takes ten seconds
    status_300_tasks_s      `blueflame status` of a session of 300 tasks; `baseline_imports_s` is
                            what importing Temporal's client alone takes; medians of five; also
                            their processor time, with `cpu_s`
"""

import argparse
import asyncio
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from activities.adapters.blob_store import LocalStore
from activities.adapters.git import git_bundle
from activities.adapters.git.bare_repository import Bare, Layout
from activities.adapters.git.git_command import Git, Scope
from activities.adapters.git.host_git import GitHostRepository
from activities.adapters.git.repository_cleanup import Cleanup, size_of
from activities.adapters.git.user.branch_landing import GitUserRepository
from activities.adapters.git.user.fast_forward import Person
from activities.ports.history_values import HistoryImport, HistoryPart
from activities.ports.merge_values import MergePart
from activities.ports.user_repository import LandRequest
from benchmarks.long_sessions import first_calls, host_cost, idle_gap, many_at_once, status_time
from benchmarks.stage import report
from workflows.domain.ids import Commit, SessionId
from workflows.domain.session.session_config import HistoryDepth

GIT: Final = Git(Path(shutil.which("git") or "git"))
KEY: Final = "k" * 32
SESSION: Final = SessionId("s1")
WHEN: Final = datetime(2026, 1, 1, tzinfo=UTC)
_FILE_BYTES: Final = 20_000
_PER_COMMIT: Final = 100


class Place:
    """A person's repository, a host and a store in one folder."""

    def __init__(self, top: Path) -> None:
        """Take the folder; nothing is made."""
        self.top, self.path = top, top / "user"
        self.user = GitUserRepository(GIT, Person({}))
        self.host = GitHostRepository(GIT, top / "host", KEY)
        self.bare = Layout(top / "host", KEY).bare
        (top / "store").mkdir(parents=True, exist_ok=True)
        self.store = LocalStore(top / "store")

    def git(self, *arguments: str, where: Path | None = None, stdin: bytes = b"") -> str:
        """Run plain git, in the person's repository if no other is named."""
        env = {"PATH": os.environ["PATH"], "HOME": str(self.top), "GIT_CONFIG_NOSYSTEM": "1"}
        command = ("git", *arguments)
        where = where or self.path
        done = subprocess.run(
            command, cwd=where, env=env, input=stdin, check=True, capture_output=True
        )
        return done.stdout.decode().strip()

    def head(self) -> Commit:
        """Return the base."""
        return Commit(self.git("rev-parse", "main"))

    def disk(self) -> int:
        """Return the bytes of host and store."""
        return size_of(self.top / "host") + size_of(self.top / "store")


def commit(branch: str, parent: str, number: int, files: dict[str, bytes]) -> bytes:
    """Return one commit in the form of `git fast-import`."""
    text = f"commit {branch}\ncommitter A <a@b> {1_700_000_000 + number} +0000\ndata 1\nc\n"
    parts = [text.encode() + (f"from {parent}\n".encode() if parent else b"")]
    parts += [
        f"M 100644 inline {name}\ndata {len(data)}\n".encode() + data + b"\n"
        for name, data in files.items()
    ]
    return b"".join(parts)


def make_history(place: Place, megabytes: int, *, is_replaced: bool = False) -> None:
    """Make a packed repository whose files cannot be compressed.

    Args:
        place: where the person's repository shall be.
        megabytes: of its history.
        is_replaced: each commit replaces the files of the one before; if not, it adds as many.
    """
    place.path.mkdir(parents=True)
    place.git("init", "-q", "-b", "main")
    chance = random.Random(1)
    commits = max(1, megabytes * 1_000_000 // (_FILE_BYTES * _PER_COMMIT))
    env = {"PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1"}
    command = ("git", "fast-import", "--quiet")
    with subprocess.Popen(command, cwd=place.path, env=env, stdin=subprocess.PIPE) as importing:
        assert importing.stdin is not None
        for number in range(commits):
            folder = 0 if is_replaced else number
            files = {
                f"f{folder}/{each}": chance.randbytes(_FILE_BYTES) for each in range(_PER_COMMIT)
            }
            importing.stdin.write(commit("refs/heads/main", "", number, files))
    assert importing.returncode == 0


def add_commit(place: Place) -> None:
    """Add one commit of one file to the person's repository."""
    change = commit("refs/heads/main", place.head(), 10_000, {"new": random.randbytes(1_000)})
    place.git("fast-import", "--quiet", stdin=change)


async def import_base(place: Place, session: SessionId) -> None:
    """Import the base as a session does whose host shares the machine."""
    base = place.head()
    waiting = await place.host.await_base(base)
    if not waiting.is_there:
        await place.user.bring(place.path, HistoryPart(base, waiting.known), place.bare)
    await place.host.import_base(HistoryImport(base, session))


async def import_through_the_store(place: Place, session: SessionId) -> None:
    """Import the base as a session does whose host is another machine."""
    base = place.head()
    waiting = await place.host.await_base(base)
    if waiting.is_there:
        return await place.host.import_base(HistoryImport(base, session))

    async def write(sink: int) -> None:
        await place.user.send(place.path, HistoryPart(base, waiting.known), sink)

    digest = await place.store.put_from(write)
    async with place.store.opened(digest) as bundle:
        await place.host.import_base(HistoryImport(base, session, bundle=bundle))
    return await place.store.discard(digest)


async def import_whole(place: Place, session: SessionId) -> None:
    """Import the base as before: always bundled, in memory; taken in if it is not there."""
    base = place.head()
    scope = Scope(place.path, {"GIT_DIR": str(place.path / ".git")})
    digest = await place.store.put(await git_bundle.create(GIT, scope, base))
    waiting = await place.host.await_base(base)
    if not waiting.is_there:
        bundle = git_bundle.parse(await place.store.get(digest))
        target = Bare(GIT, Layout(place.top / "host", KEY)).scope()
        await git_bundle.unpack(GIT, target, bundle, strict=False)
    await place.host.advance(f"refs/blueflame/{session}/base", base, None)


IMPORTS: Final[dict[str, Callable[[Place, SessionId], Coroutine[None, None, None]]]] = {
    "": import_base,
    "through_store_": import_through_the_store,
    "baseline_": import_whole,
}


def in_a_process(top: Path, way: str, session: str) -> tuple[float, float]:
    """Import in a process of its own; return its seconds and its most memory in MB."""
    command = (sys.executable, "-P", "-m", "benchmarks.size", "--import", way, str(top), session)
    root = str(Path(__file__).parents[1])
    done = subprocess.run(
        command, check=True, capture_output=True, env={**os.environ, "PYTHONPATH": root}
    )
    seconds, peak = json.loads(done.stdout)
    return seconds, peak


def imported(way: str, top: str, session: str) -> None:
    """Do one import, and print its seconds and the most memory of this process."""
    began = time.monotonic()
    asyncio.run(IMPORTS[way](Place(Path(top)), SessionId(session)))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps([time.monotonic() - began, peak]))


def importing(top: Path, megabytes: int) -> dict[str, float]:
    """Measure each way to import, on the same history."""
    seed = Place(top / "seed")
    make_history(seed, megabytes)
    figures: dict[str, float] = {}
    for way in IMPORTS:
        place = Place(top / f"import-{way or 'new'}")
        shutil.copytree(seed.path, place.path)
        first, peak = in_a_process(place.top, way, "s1")
        again, _ = in_a_process(place.top, way, "s2")
        before = place.disk()
        add_commit(place)
        _, later = in_a_process(place.top, way, "s3")
        figures |= {
            f"{way}import_{megabytes}mb_s": round(first, 2),
            f"{way}import_again_{megabytes}mb_s": round(again, 2),
            f"{way}disk_per_new_base_mb": round((place.disk() - before) / 1e6, 2),
            f"{way}peak_worker_mb": round(max(peak, later)),
        }
        shutil.rmtree(place.top)
    return figures


async def merging(top: Path, tasks: int, *, is_new: bool) -> tuple[list[float], list[int]]:
    """Merge and deliver one task after the other; return seconds and bytes in the store, each."""
    place = Place(top)
    make_history(place, 2)
    await import_base(place, SESSION)
    base, chance = place.head(), random.Random(2)
    works = [
        commit(f"refs/blueflame/s1/tasks/{each}", base, each, {f"t{each}": chance.randbytes(2_000)})
        for each in range(tasks)
    ]
    place.git("fast-import", "--quiet", where=place.bare, stdin=b"".join(works))
    ref, head, took, kept = f"refs/blueflame/{SESSION}/merged", base, list[float](), list[int]()
    for each in range(tasks):
        work = await place.host.tip(f"refs/blueflame/s1/tasks/{each}")
        assert work is not None
        began = time.monotonic()
        part = MergePart(commit=work, message="m")
        merged = await place.host.merge(head, (part,), WHEN + timedelta(seconds=each))
        assert merged.kind == "merged"
        old = None if each == 0 else head
        data = await place.host.bundle(merged.commit, head if is_new else base)
        digest = await place.store.put(data)
        await place.host.advance(ref, merged.commit, old)
        land = LandRequest(
            path=place.path,
            bundle=await place.store.get(digest),
            ref="refs/heads/blueflame/s1",
            old=old,
            new=merged.commit,
        )
        assert (await place.user.land(land)).kind == "landed"
        head = merged.commit
        took.append(time.monotonic() - began)
        kept.append(size_of(top / "store"))
    return took, kept


def growth(top: Path, tasks: int) -> dict[str, float]:
    """Measure how waves and the store grow with a session."""
    figures: dict[str, float] = {}
    for way, is_new in (("", True), ("baseline_", False)):
        took, kept = asyncio.run(merging(top / f"merge-{way}", tasks, is_new=is_new))
        ends = [statistics.median(each) for each in (took[:10], took[-10:])]
        early = tasks // 10
        figures |= {
            f"{way}merge_wave_s_last_over_first": round(ends[1] / ends[0], 2),
            f"{way}store_bytes_per_task_{tasks}_over_{early}": round(
                (kept[-1] / tasks) / (kept[early - 1] / early), 2
            ),
        }
    return figures


async def cleaning(top: Path, *, is_new: bool) -> float:
    """Clean a repository up whose pack holds what no session needs; return its growth in MB."""
    place = Place(top)
    make_history(place, 2)
    await import_base(place, SESSION)
    gone = commit("refs/gone", place.head(), 1, {f"g{n}": b"%d\n" % n * 99 for n in range(20_000)})
    place.git("fast-import", "--quiet", where=place.bare, stdin=gone)
    place.git("repack", "-q", "-a", "-d", where=place.bare)
    place.git("update-ref", "-d", "refs/gone", where=place.bare)
    before = size_of(place.bare)
    if is_new:
        now = datetime.now(UTC)
        await Cleanup(GIT, top / "host", KEY).prune(now - timedelta(minutes=1), is_idle=True)
    else:
        scope = replace(Bare(GIT, Layout(top / "host", KEY)).scope(), limit_seconds=600.0)
        unpack = "--unpack-unreachable=2.days.ago"
        await GIT.run(scope, "repack", "-q", "-d", "-l", "-A", unpack)
        await GIT.run(scope, "prune", "--expire=2.days.ago")
    return round((size_of(place.bare) - before) / 1e6, 2)


def main(megabytes: int, tasks: int, only: Sequence[str]) -> None:
    """Measure in a temporary folder; say each figure as it comes, and report all.

    Args:
        megabytes: of the large history.
        tasks: of the long session.
        only: names of `parts`; empty: all.
    """
    figures: dict[str, float] = {}
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="blueflame-bench-") as name:
        for part, measure in parts(Path(name), megabytes, tasks).items():
            if only and part not in only:
                continue
            found = measure()
            figures |= found
            load = round(os.getloadavg()[0], 1)
            after = {"after_s": round(time.monotonic() - began), "load": load}
            print(json.dumps(found | after), file=sys.stderr, flush=True)
    report(figures)


def parts(top: Path, megabytes: int, tasks: int) -> dict[str, Callable[[], dict[str, float]]]:
    """Return the measurements in their order: whole sessions first, which need a quiet machine."""
    return {
        "sessions": lambda: asyncio.run(many_at_once(sessions=20, turns=11)),
        "first_call": lambda: asyncio.run(first_call(megabytes)),
        "host": lambda: asyncio.run(host_cost(small=10, large=200)),
        "idle": lambda: asyncio.run(idle_gap(tasks=40)),
        "status": lambda: asyncio.run(status_time(tasks=300)),
        "merging": lambda: growth(top, tasks),
        "cleanup": lambda: asyncio.run(cleanup_growth(top)),
        "import": lambda: importing(top, megabytes),
    }


async def cleanup_growth(top: Path) -> dict[str, float]:
    """Measure a clean-up of either kind."""
    return {
        "cleanup_growth_mb": await cleaning(top / "new", is_new=True),
        "baseline_cleanup_growth_mb": await cleaning(top / "old", is_new=False),
    }


async def first_call(megabytes: int) -> dict[str, float]:
    """Measure the starts of two sessions on one base."""

    def make(top: Path) -> Path:
        place = Place(top)
        make_history(place, megabytes, is_replaced=True)
        return place.path

    figures: dict[str, float] = {}
    ways: dict[str, HistoryDepth] = {"": "full", "cut_": 1}
    starts = await first_calls(make, tuple(ways.values()))
    for way, (first, second) in zip(ways, starts, strict=True):
        figures |= {
            f"{way}first_call_{megabytes}mb_s": first.call_s,
            f"{way}second_call_{megabytes}mb_s": second.call_s,
            f"{way}import_{megabytes}mb_cpu_s": round(first.processor_s - second.processor_s, 2),
        }
    return figures


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=500)
    parser.add_argument("--tasks", type=int, default=300)
    names = tuple(parts(Path(), 1, 1))
    parser.add_argument("--only", nargs="+", choices=names, default=())
    parser.add_argument("--import", nargs=3, dest="job", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        imported(*options.job)
    else:
        main(options.megabytes, options.tasks, options.only)
