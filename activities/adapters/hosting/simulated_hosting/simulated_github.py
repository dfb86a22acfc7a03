"""The part of GitHub's REST API that Blue Flame uses, simulated. Also one GraphQL mutation pair."""

import re
from collections.abc import Iterable, Mapping
from typing import ClassVar

from activities.adapters.hosting.simulated_hosting.simulated_answer import (
    Answer,
    Asked,
    Operation,
    RefusedError,
    as_json,
)
from activities.adapters.hosting.simulated_hosting.simulated_api import Fields, Look, SimulatedApi
from activities.adapters.hosting.simulated_hosting.simulated_pulls import (
    SimulatedPull,
    SimulatedRepository,
)
from activities.text.foreign_json import table, text

_REPOSITORY = r"/repos/(?P<repository>[^/]+/[^/]+)"
_COMMIT = rf"{_REPOSITORY}/commits/(?P<commit>[0-9a-f]+)"
_GRAPHQL = "/graphql"


def _check_runs(repository: SimulatedRepository, found: re.Match[str]) -> object:
    runs = [
        {
            "name": each.name,
            "status": "in_progress" if each.conclusion == "pending" else "completed",
            "conclusion": None if each.conclusion == "pending" else each.conclusion,
            "html_url": "",
            "output": {"title": each.text, "summary": ""},
        }
        for each in repository.checks_of(found["commit"])
    ]
    return {"total_count": len(runs), "check_runs": runs}


def _status(_: SimulatedRepository, __: re.Match[str]) -> object:
    return {"state": "pending", "statuses": []}


def _reviews(repository: SimulatedRepository, found: re.Match[str]) -> object:
    return [
        {
            "id": each.number,
            "user": {"login": each.by},
            "state": each.state.upper(),
            "body": each.text,
            "commit_id": each.commit,
        }
        for each in repository.numbered(found["number"]).reviews
    ]


def _comments(repository: SimulatedRepository, found: re.Match[str]) -> object:
    return [
        {
            "id": 100 * each.number + index,
            "pull_request_review_id": each.number,
            "user": {"login": each.by},
            "path": comment.path,
            "line": comment.line,
            "body": comment.text,
        }
        for each in repository.numbered(found["number"]).reviews
        for index, comment in enumerate(each.comments)
    ]


class SimulatedGitHub(SimulatedApi):
    """Answers as `api.github.com` would."""

    pulls = re.compile(rf"{_REPOSITORY}/pulls(?:/(?P<number>\d+))?")
    looks: ClassVar[Mapping[re.Pattern[str], Look]] = {
        re.compile(rf"{_COMMIT}/check-runs"): _check_runs,
        re.compile(rf"{_COMMIT}/status"): _status,
        re.compile(rf"{_REPOSITORY}/pulls/(?P<number>\d+)/reviews"): _reviews,
        re.compile(rf"{_REPOSITORY}/pulls/(?P<number>\d+)/comments"): _comments,
    }
    scheme = "Bearer"
    fields = Fields("head", "base", "body", ("state", "closed"))
    missing = "Not Found"

    def operation(self, asked: Asked) -> Operation:
        """Return what a request is for."""
        return "change" if asked.path == _GRAPHQL else super().operation(asked)

    def answer(self, asked: Asked) -> Answer:
        """Carry a request out."""
        return self._mark(asked) if asked.path == _GRAPHQL else super().answer(asked)

    def refusal(self, error: RefusedError) -> Answer:
        """Return the answer to a request that is refused."""
        status = 422 if error.status == 409 else error.status  # noqa: PLR2004 (as GitHub does)
        if status != 422:  # noqa: PLR2004
            return as_json(status, {"message": str(error)})
        errors = [{"resource": "PullRequest", "code": "custom", "message": str(error)}]
        return as_json(status, {"message": "Validation Failed", "errors": errors})

    def listed(self, repository: SimulatedRepository, asked: Asked) -> Iterable[SimulatedPull]:
        """Return those of the branch that is asked for, as `owner:branch`."""
        owner = repository.name.partition("/")[0]
        wanted = asked.query.get("head", "")
        return [
            each
            for each in repository.newest()
            if not wanted or (wanted == f"{owner}:{each.branch}" and not each.is_of_fork)
        ]

    def _mark(self, asked: Asked) -> Answer:
        query, variables = text(asked.body.get("query")), table(asked.body.get("variables"))
        name, _, number = text(variables.get("id")).rpartition("#")
        repository = self._repositories.get(name)
        if repository is None or not repository.has_drafts:
            return as_json(200, {"data": None, "errors": [{"message": "drafts not supported"}]})
        repository.numbered(number).is_draft = "convertPullRequestToDraft" in query
        return as_json(200, {"data": {}})

    def shown(self, repository: SimulatedRepository, pull: SimulatedPull) -> object:
        """Return the JSON of a pull request."""
        return {
            "number": pull.number,
            "node_id": f"{repository.name}#{pull.number}",
            "html_url": f"{self._url}/{repository.name}/pull/{pull.number}",
            "state": "open" if pull.state == "open" else "closed",
            "merged_at": "2026-01-01T00:00:00Z" if pull.state == "merged" else None,
            "draft": pull.is_draft,
            "title": pull.title,
            "body": pull.body.replace("\n", "\r\n"),
            "head": {"ref": pull.branch, "sha": repository.head_of(pull)},
            "base": {"ref": pull.target},
        }
