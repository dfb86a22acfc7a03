"""The pull requests of a simulated repository, whatever API shows them."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from activities.adapters.hosting.simulated_hosting.simulated_answer import RefusedError

Conclusion = Literal["pending", "success", "failure"]


@dataclass
class SimulatedCheck:
    """One check on a commit."""

    name: str
    conclusion: Conclusion
    text: str = ""
    commit: str = ""


@dataclass
class SimulatedComment:
    """One comment on a line."""

    path: str
    line: int
    text: str


@dataclass
class SimulatedReview:
    """One review of a pull request."""

    number: int
    by: str
    state: Literal["changes_requested", "approved", "commented", "dismissed"]
    text: str = ""
    comments: tuple[SimulatedComment, ...] = ()
    commit: str = ""


@dataclass
class SimulatedPull:
    """One pull request."""

    number: int
    branch: str
    target: str
    title: str
    body: str
    is_draft: bool = False
    is_of_fork: bool = False
    """Its branch is in a fork of another person, and may have the name of one of ours."""
    state: Literal["open", "closed", "merged"] = "open"
    reviews: list[SimulatedReview] = field(default_factory=list[SimulatedReview])
    commit: str = ""
    """What its branch last held."""


class SimulatedRepository:
    """One repository: its pull requests, and where its branches are."""

    def __init__(self, name: str, bare: Path | None = None) -> None:
        """Take `owner/name`, and a bare repository that holds its branches; None: all exist."""
        self.name = name
        self.pulls: list[SimulatedPull] = []
        self.checks: list[SimulatedCheck] = []
        self.has_drafts = True
        """Whether drafts are offered; GitHub does not everywhere."""
        self._bare = bare

    def commit_of(self, branch: str) -> str:
        """Return the commit that a branch names; empty if there is no such branch."""
        if self._bare is None:
            return "0" * 40
        place = self._bare / "refs" / "heads" / branch
        return place.read_text().strip() if place.is_file() else ""

    def head_of(self, pull: SimulatedPull) -> str:
        """Return the commit of a pull request, which outlives its branch."""
        pull.commit = self.commit_of(pull.branch) or pull.commit
        return pull.commit

    def open_of(self, branch: str) -> SimulatedPull | None:
        """Return the open pull request of a branch."""
        return next(
            (
                p
                for p in self.pulls
                if p.branch == branch and p.state == "open" and not p.is_of_fork
            ),
            None,
        )

    def newest(self) -> Iterator[SimulatedPull]:
        """Return all pull requests, the newest first."""
        return reversed(self.pulls)

    def create(
        self, branch: str, target: str, title: str, body: str, *, is_draft: bool
    ) -> SimulatedPull:
        """Create a pull request.

        Raises:
            RefusedError: 409 if there is an open one; 422 if a branch is missing.
        """
        if (known := self.open_of(branch)) is not None:
            raise RefusedError(409, f"a pull request already exists for {branch}: #{known.number}")
        for each in (branch, target):
            if not self.commit_of(each):
                raise RefusedError(422, f"branch {each} does not exist")
        if is_draft and not self.has_drafts:
            raise RefusedError(422, "Draft pull requests are not supported in this repository.")
        pull = SimulatedPull(len(self.pulls) + 1, branch, target, title, body, is_draft)
        self.pulls.append(pull)
        return pull

    def numbered(self, number: str) -> SimulatedPull:
        """Return a pull request.

        Raises:
            RefusedError: 404 if there is none.
        """
        found = next((each for each in self.pulls if str(each.number) == number), None)
        if found is None:
            raise RefusedError(404, "Not Found")
        return found

    def checks_of(self, commit: str) -> list[SimulatedCheck]:
        """Return the checks on a commit; those that name none are on every commit."""
        return [each for each in self.checks if each.commit in {"", commit}]
