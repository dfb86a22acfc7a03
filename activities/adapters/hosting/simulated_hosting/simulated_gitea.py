"""The part of the REST API of Gitea and Forgejo that Blue Flame uses, simulated."""

import re
from collections.abc import Iterable, Mapping
from typing import ClassVar

from activities.adapters.hosting.simulated_hosting.simulated_answer import (
    Answer,
    Asked,
    RefusedError,
    as_json,
)
from activities.adapters.hosting.simulated_hosting.simulated_api import Fields, Look, SimulatedApi
from activities.adapters.hosting.simulated_hosting.simulated_pulls import (
    SimulatedPull,
    SimulatedRepository,
)

_REPOSITORY = r"/repos/(?P<repository>[^/]+/[^/]+)"
_REVIEW_STATES = {
    "changes_requested": "REQUEST_CHANGES",
    "approved": "APPROVED",
    "commented": "COMMENT",
    "dismissed": "REQUEST_CHANGES",
}


def _status(repository: SimulatedRepository, found: re.Match[str]) -> object:
    statuses = [
        {"context": each.name, "status": each.conclusion, "description": each.text}
        for each in repository.checks_of(found["commit"])
    ]
    return {"state": "", "statuses": statuses}


def _reviews(repository: SimulatedRepository, found: re.Match[str]) -> object:
    return [
        {
            "id": each.number,
            "user": {"login": each.by},
            "state": _REVIEW_STATES[each.state],
            "dismissed": each.state == "dismissed",
            "body": each.text,
            "commit_id": each.commit,
        }
        for each in repository.numbered(found["number"]).reviews
    ]


def _comments(repository: SimulatedRepository, found: re.Match[str]) -> object:
    return [
        {"id": index, "path": comment.path, "position": comment.line, "body": comment.text}
        for each in repository.numbered(found["number"]).reviews
        if str(each.number) == found["review"]
        for index, comment in enumerate(each.comments)
    ]


class SimulatedGitea(SimulatedApi):
    """Answers as `codeberg.org/api/v1` would."""

    pulls = re.compile(rf"{_REPOSITORY}/pulls(?:/(?P<number>\d+))?")
    looks: ClassVar[Mapping[re.Pattern[str], Look]] = {
        re.compile(rf"{_REPOSITORY}/commits/(?P<commit>[0-9a-f]+)/status"): _status,
        re.compile(rf"{_REPOSITORY}/pulls/(?P<number>\d+)/reviews"): _reviews,
        re.compile(
            rf"{_REPOSITORY}/pulls/(?P<number>\d+)/reviews/(?P<review>\d+)/comments"
        ): _comments,
    }
    paging = ("limit", 30, 50)
    scheme = "token"
    fields = Fields("head", "base", "body", ("state", "closed"))
    missing = "GetRepositoryByName"
    shown_status = 201

    def refusal(self, error: RefusedError) -> Answer:
        """Return the answer to a request that is refused."""
        said = str(error).replace("a pull request", "pull request")
        return as_json(error.status, {"message": said, "url": "/api/swagger"})

    def listed(self, repository: SimulatedRepository, asked: Asked) -> Iterable[SimulatedPull]:
        """Return one page of all pull requests: this API filters by no branch."""
        limit, page = int(asked.query.get("limit", "50")), int(asked.query.get("page", "1"))
        return [*repository.newest()][limit * (page - 1) : limit * page]

    def shown(self, repository: SimulatedRepository, pull: SimulatedPull) -> object:
        """Return the JSON of a pull request."""
        has_branch = bool(repository.commit_of(pull.branch))
        return {
            "number": pull.number,
            "html_url": f"{self._url}/{repository.name}/pulls/{pull.number}",
            "state": "open" if pull.state == "open" else "closed",
            "merged": pull.state == "merged",
            "draft": pull.title.startswith("WIP: "),
            "title": pull.title,
            "body": pull.body,
            "head": {
                "label": pull.branch,
                "ref": pull.branch if has_branch else f"refs/pull/{pull.number}/head",
                "sha": repository.head_of(pull),
                "repo_id": 2 if pull.is_of_fork else 1,
            },
            "base": {"ref": pull.target, "repo_id": 1},
        }
