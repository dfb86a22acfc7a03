"""The part of the REST API of Gitea and Forgejo that Blue Flame uses, simulated."""

import re
from collections.abc import Mapping

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
from activities.text.foreign_json import text

_PULLS = re.compile(r"/repos/(?P<repository>[^/]+/[^/]+)/pulls(?:/(?P<number>\d+))?")
_REVIEWS = re.compile(
    r"/repos/(?P<repository>[^/]+/[^/]+)/pulls/(?P<number>\d+)/reviews"
    r"(?:/(?P<review>\d+)/comments)?"
)
_STATUS = re.compile(r"/repos/(?P<repository>[^/]+/[^/]+)/commits/(?P<commit>[0-9a-f]+)/status")
_REVIEW_STATES = {
    "changes_requested": "REQUEST_CHANGES",
    "approved": "APPROVED",
    "commented": "COMMENT",
    "dismissed": "REQUEST_CHANGES",
}


class SimulatedGitea:
    """Answers as `codeberg.org/api/v1` would."""

    def __init__(self, url: str, repositories: Mapping[str, SimulatedRepository]) -> None:
        """Take the address of the pages, and the repositories by name."""
        self._url = url
        self._repositories = repositories

    def operation(self, asked: Asked) -> Operation:
        """Return what a request is for."""
        if _REVIEWS.fullmatch(asked.path) or _STATUS.fullmatch(asked.path):
            return "look"
        if asked.method == "PATCH":
            return "change"
        return "create" if asked.method == "POST" else "find"

    def is_authorised(self, asked: Asked, token: str) -> bool:
        """Whether the request holds the token."""
        return asked.authorization == f"token {token}"

    def answer(self, asked: Asked) -> Answer:
        """Carry a request out."""
        found = next(
            (each for form in (_PULLS, _REVIEWS, _STATUS) if (each := form.fullmatch(asked.path))),
            None,
        )
        repository = self._repositories.get(found["repository"]) if found else None
        if found is None or repository is None:
            raise RefusedError(404, "GetRepositoryByName")
        if found.re is _STATUS:
            return _status(repository, found["commit"])
        if found["number"] is None:
            return self._all(asked, repository)
        pull = repository.numbered(found["number"])
        if found.re is _REVIEWS:
            return _reviews(pull, found["review"])
        if asked.method == "PATCH":
            pull.title = text(asked.body.get("title")) or pull.title
            pull.body = text(asked.body.get("body")) or pull.body
            pull.target = text(asked.body.get("base")) or pull.target
            if asked.body.get("state") == "closed" and pull.state == "open":
                pull.state = "closed"
        return as_json(201, self._shown(repository, pull))

    def refusal(self, error: RefusedError) -> Answer:
        """Return the answer to a request that is refused."""
        said = str(error).replace("a pull request", "pull request")
        return as_json(error.status, {"message": said, "url": "/api/swagger"})

    def _all(self, asked: Asked, repository: SimulatedRepository) -> Answer:
        if asked.method == "POST":
            pull = repository.create(
                text(asked.body.get("head")),
                text(asked.body.get("base")),
                text(asked.body.get("title")),
                text(asked.body.get("body")),
                is_draft=False,
            )
            return as_json(201, self._shown(repository, pull))
        limit, page = int(asked.query.get("limit", "50")), int(asked.query.get("page", "1"))
        pulls = [*repository.newest()][limit * (page - 1) : limit * page]
        return as_json(200, [self._shown(repository, each) for each in pulls])

    def _shown(self, repository: SimulatedRepository, pull: SimulatedPull) -> object:
        return {
            "number": pull.number,
            "html_url": f"{self._url}/{repository.name}/pulls/{pull.number}",
            "state": "open" if pull.state == "open" else "closed",
            "merged": pull.state == "merged",
            "draft": pull.title.startswith("WIP: "),
            "title": pull.title,
            "body": pull.body,
            "head": {
                "ref": pull.branch,
                "sha": repository.commit_of(pull.branch),
                "repo_id": 2 if pull.is_of_fork else 1,
            },
            "base": {"ref": pull.target, "repo_id": 1},
        }


def _status(repository: SimulatedRepository, commit: str) -> Answer:
    statuses = [
        {"context": each.name, "status": each.conclusion, "description": each.text}
        for each in repository.checks_of(commit)
    ]
    return as_json(200, {"state": "", "statuses": statuses})


def _reviews(pull: SimulatedPull, review: str | None) -> Answer:
    if review is None:
        shown = [
            {
                "id": each.number,
                "user": {"login": each.by},
                "state": _REVIEW_STATES[each.state],
                "dismissed": each.state == "dismissed",
                "body": each.text,
                "commit_id": each.commit,
            }
            for each in pull.reviews
        ]
        return as_json(200, shown)
    comments = [
        {"id": index, "path": comment.path, "position": comment.line, "body": comment.text}
        for each in pull.reviews
        if str(each.number) == review
        for index, comment in enumerate(each.comments)
    ]
    return as_json(200, comments)
