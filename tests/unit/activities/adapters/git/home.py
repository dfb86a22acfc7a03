"""A user's repository, and ours beside it."""

import shutil
import subprocess
import tempfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from activities.adapters.git.git_command import Completed, Git, Scope
from activities.adapters.git.host_git import GitHostRepository
from activities.adapters.git.user.branch_landing import GitUserRepository
from activities.adapters.git.user.fast_forward import Person
from activities.ports.history_values import HistoryImport, HistoryPart, HistoryWish, Waiting
from activities.ports.host_repository import CheckpointRequest, Collected
from activities.ports.merge_values import TaskCommit
from activities.ports.user_repository import LandOutcome, LandRequest
from workflows.domain.ids import Commit, SessionId, TaskId
from workflows.domain.session.session_config import HistoryDepth

WHEN = datetime(2026, 11, 28, 12, 0, 0, tzinfo=UTC)
SESSION = SessionId("s1")
BRANCH = f"refs/heads/blueflame/{SESSION}"
RESULT = f"refs/blueflame/{SESSION}/merged"
GIT = Path(shutil.which("git") or "git")


def plain_git(where: Path, *arguments: str) -> str:
    """Run git as a person would, without our hardening."""
    done = subprocess.run(
        ["git", *arguments],
        cwd=where,
        check=True,
        capture_output=True,
        env={
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(where),
            "GIT_CONFIG_NOSYSTEM": "1",
            # Later versions of git go on with it in the background, and lock files come and go.
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "maintenance.auto",
            "GIT_CONFIG_VALUE_0": "false",
            "GIT_AUTHOR_NAME": "Person",
            "GIT_AUTHOR_EMAIL": "person@example.org",
            "GIT_COMMITTER_NAME": "Person",
            "GIT_COMMITTER_EMAIL": "person@example.org",
        },
    )
    return done.stdout.decode().strip()


class ToldGit(Git):
    """Git that notes the command lines that were run."""

    def __init__(self) -> None:
        super().__init__(GIT)
        self.told: list[str] = []

    async def run(
        self,
        scope: Scope,
        *arguments: str | bytes,
        stdin: bytes = b"",
        accept: tuple[int, ...] = (0,),
    ) -> Completed:
        self.told.append(" ".join(map(str, arguments)))
        return await super().run(scope, *arguments, stdin=stdin, accept=accept)


class Home:
    """One user repository with a host beside it."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.path = top / "user"
        self.git = Git(GIT)
        self.person = Person({"PATH": "/usr/bin:/bin", "HOME": str(top)})
        self.user = GitUserRepository(self.git, self.person)
        self.host = GitHostRepository(self.git, top / "host", "k" * 32)
        self.base = Commit("")

    def make(self, files: dict[str, str | bytes]) -> None:
        """Make the user's repository with one commit."""
        self.path.mkdir()
        self.run("init", "-q", "-b", "main")
        self.commit(files)

    def run(self, *arguments: str) -> str:
        """Run plain git in the user's repository."""
        return plain_git(self.path, *arguments)

    def commit(self, files: dict[str, str | bytes], message: str = "work") -> Commit:
        """Commit files in the user's repository; that is the base from then on."""
        write(self.path, files)
        self.run("add", "-A", "-f")
        self.run("commit", "-q", "--no-verify", "-m", message)
        self.base = Commit(self.run("rev-parse", "HEAD"))
        return self.base

    async def import_base(
        self, session: SessionId = SESSION, depth: HistoryDepth = "full", *, directly: bool = False
    ) -> HistoryPart:
        """Bring the base to the host as far as the host lacks it; return what was to be sent."""
        return await self.import_after(
            await self.host.await_base(self.base), session, depth, directly
        )

    async def import_after(
        self, waiting: Waiting, session: SessionId, depth: HistoryDepth, directly: bool
    ) -> HistoryPart:
        """Bring the base to the host, which has said what it lacks.

        Args:
            waiting: the host's words.
            session: the session's id.
            depth: as `worktree.history`.
            directly: into the host's repository; if not, through a file.
        """
        shallow = (await self.user.names(self.path, self.base)).shallow
        asked = HistoryImport(self.base, session, shallow)
        part = HistoryPart(self.base, is_empty=True)
        if not waiting.is_there or waiting.ends:
            wish = HistoryWish(self.base, depth, waiting.known, waiting.ends)
            part = await self.user.part(self.path, wish)
            asked = replace(asked, ends=shallow if part.ends is None else part.ends)
        with tempfile.TemporaryFile() as file:
            if directly and not part.is_empty:
                await self.user.bring(self.path, part, self.bare)
            elif not part.is_empty:
                await self.user.send(self.path, part, file.fileno())
                asked = replace(asked, bundle=file.fileno())
            await self.host.import_base(asked)
        return part

    @property
    def bare(self) -> Path:
        """The host's repository."""
        return self.top / "host" / "repositories" / f"{'k' * 32}.git"

    async def start(self, name: str = "t1") -> Path:
        """Bring the base to the host and make a worktree."""
        await self.import_base()
        await self.host.import_rules(await self.user.attribute_rules(self.path))
        return (await self.host.create_worktree(name, self.base)).path

    async def collect(self, name: str = "t1") -> Collected:
        """Collect under the lock."""
        async with self.host.lock(name):
            return await self.host.collect(name)

    async def commit_work(self, name: str = "t1") -> Commit:
        """Collect and squash on the base."""
        tree = (await self.collect(name)).tree
        return await self.host.squash(
            TaskCommit(base=self.base, tree=tree, message=f"Work of {name}", when=WHEN)
        )

    async def land(self, commit: Commit) -> LandOutcome:
        """Name the commit the session's result and land it."""
        await self.host.advance(RESULT, commit, None)
        bundle = await self.host.bundle(RESULT, self.base)
        return await self.user.land(
            LandRequest(path=self.path, bundle=bundle, ref=BRANCH, old=None, new=commit)
        )

    def request(self, name: str, collected: Collected, **other: object) -> CheckpointRequest:
        """A checkpoint request with the usual values."""
        values: dict[str, object] = {
            "name": name,
            "ref": f"refs/blueflame/{SESSION}/tasks/{name}/1",
            "previous": None,
            "parent": self.base,
            "tree": collected.tree,
            "session": SESSION,
            "task": TaskId(name),
            "attempt": 1,
            "turn": 1,
            "observations": b"seen",
            "when": WHEN,
        }
        return CheckpointRequest.model_validate(values | other)

    def of_host(self, *arguments: str) -> str:
        """Run plain git in the host's repository."""
        return plain_git(self.bare, *arguments)

    def tree(self, commit: str) -> dict[str, str]:
        """Return `path -> mode` of a commit in the host's repository."""
        lines = self.of_host("ls-tree", "-r", commit)
        return {line.partition("\t")[2]: line[:6] for line in lines.splitlines()}


def names(folder: Path) -> list[str]:
    """Return what is in a folder, sorted."""
    return sorted(place.name for place in folder.iterdir())


def fingerprint(top: Path) -> dict[str, tuple[bytes, int, int]]:
    """Return the content, mode and time of each file below a folder, `.git` included."""
    found: dict[str, tuple[bytes, int, int]] = {}
    for place in sorted(top.rglob("*")):
        status = place.lstat()
        if place.is_symlink() or not place.is_file():
            continue
        content = place.read_bytes()
        # git renews the time of a shared index whenever it reads one.
        changed = 0 if place.name.startswith("sharedindex.") else status.st_mtime_ns
        found[str(place.relative_to(top))] = (content, status.st_mode, changed)
    return found


def write(where: Path, files: dict[str, str | bytes]) -> None:
    """Write files below a folder."""
    for name, content in files.items():
        place = where / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.encode() if isinstance(content, str) else content)
