"""What the simulated APIs share: requests are led to what answers them, by one table for each."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import ClassVar, NamedTuple
from urllib.parse import unquote

from activities.adapters.hosting.simulated_hosting.simulated_answer import (
    Answer,
    Asked,
    Operation,
    RefusedError,
    as_json,
)
from activities.adapters.hosting.simulated_hosting.simulated_pulls import (
    SimulatedPull,
    SimulatedRepository,
)
from activities.text.foreign_json import is_list, is_table, text

Look = Callable[[SimulatedRepository, re.Match[str]], object]
"""Returns the JSON of what is to be seen of a repository, for the match of a path."""


class Fields(NamedTuple):
    """The names of a pull request's parts in the body of a request."""

    branch: str
    target: str
    body: str
    closing: tuple[str, str]
    """The field, and its value, that closes one."""


class SimulatedApi(ABC):
    """One API; the requests are the same in all, their paths and words are not."""

    pulls: ClassVar[re.Pattern[str]]
    """The path of all pull requests (`repository`) or of one (`number`)."""
    looks: ClassVar[Mapping[re.Pattern[str], Look]]
    """The paths of what can only be seen, each with what shows it."""
    paging: ClassVar[tuple[str, int, int]] = ("per_page", 30, 100)
    """The parameter for the size of a page of what can be seen; the usual size, and the most."""
    scheme: ClassVar[str]
    """The word before the token."""
    fields: ClassVar[Fields]
    missing: ClassVar[str]
    """What is said of a repository that is not there."""
    change: ClassVar[str] = "PATCH"
    shown_status: ClassVar[int] = 200
    """The status of an answer that shows one pull request."""

    def __init__(self, url: str, repositories: Mapping[str, SimulatedRepository]) -> None:
        """Take the address of the pages, and the repositories by name."""
        self._url = url
        self._repositories = repositories

    @abstractmethod
    def shown(self, repository: SimulatedRepository, pull: SimulatedPull) -> object:
        """Return the JSON of a pull request."""

    @abstractmethod
    def listed(self, repository: SimulatedRepository, asked: Asked) -> Iterable[SimulatedPull]:
        """Return the pull requests that are asked for, the newest first."""

    @abstractmethod
    def refusal(self, error: RefusedError) -> Answer:
        """Return the answer to a request that is refused."""

    def operation(self, asked: Asked) -> Operation:
        """Return what a request is for."""
        if any(form.fullmatch(asked.path) for form in self.looks):
            return "look"
        if asked.method == self.change:
            return "change"
        return "create" if asked.method == "POST" else "find"

    def is_authorised(self, asked: Asked, token: str) -> bool:
        """Whether the request holds the token."""
        return asked.authorization == f"{self.scheme} {token}"

    def answer(self, asked: Asked) -> Answer:
        """Carry a request out."""
        for form, look in self.looks.items():
            if found := form.fullmatch(asked.path):
                return as_json(200, self._page(asked, look(self._repository(found), found)))
        found = self.pulls.fullmatch(asked.path)
        repository = self._repository(found)
        if found is None or found["number"] is None:
            return self._all(asked, repository)
        pull = repository.numbered(found["number"])
        if asked.method == self.change:
            self._change(asked, pull)
        return as_json(self.shown_status, self.shown(repository, pull))

    def _page(self, asked: Asked, shown: object) -> object:
        """Return the page that is asked for, of a list or of the lists of an object."""
        if is_table(shown):
            return {name: self._page(asked, each) for name, each in shown.items()}
        if not is_list(shown):
            return shown
        name, usual, most = self.paging
        size, page = min(int(asked.query.get(name, usual)), most), int(asked.query.get("page", 1))
        return shown[size * (page - 1) : size * page]

    def _repository(self, found: re.Match[str] | None) -> SimulatedRepository:
        repository = self._repositories.get(unquote(found["repository"])) if found else None
        if repository is None:
            raise RefusedError(404, self.missing)
        return repository

    def _all(self, asked: Asked, repository: SimulatedRepository) -> Answer:
        if asked.method != "POST":
            pulls = self.listed(repository, asked)
            return as_json(200, [self.shown(repository, each) for each in pulls])
        pull = repository.create(
            text(asked.body.get(self.fields.branch)),
            text(asked.body.get(self.fields.target)),
            text(asked.body.get("title")),
            text(asked.body.get(self.fields.body)),
            is_draft=asked.body.get("draft") is True,
        )
        return as_json(201, self.shown(repository, pull))

    def _change(self, asked: Asked, pull: SimulatedPull) -> None:
        name, value = self.fields.closing
        pull.title = text(asked.body.get("title")) or pull.title
        pull.body = text(asked.body.get(self.fields.body)) or pull.body
        pull.target = text(asked.body.get(self.fields.target)) or pull.target
        if asked.body.get(name) == value and pull.state == "open":
            pull.state = "closed"
