"""The part of GitHub's REST API that Blue Flame uses, simulated. Also one GraphQL mutation pair."""

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
from activities.text.foreign_json import table, text

_PULLS = re.compile(r"/repos/(?P<repository>[^/]+/[^/]+)/pulls(?:/(?P<number>\d+))?")
_LOOK = re.compile(
    r"/repos/(?P<repository>[^/]+/[^/]+)/"
    r"(?:pulls/(?P<number>\d+)/(?P<what>reviews|comments)|"
    r"commits/(?P<commit>[0-9a-f]+)/(?P<of>check-runs|status))"
)


class SimulatedGitHub:
    """Answers as `api.github.com` would."""

    def __init__(self, url: str, repositories: Mapping[str, SimulatedRepository]) -> None:
        """Take the address of the pages, and the repositories by name."""
        self._url = url
        self._repositories = repositories

    def operation(self, asked: Asked) -> Operation:
        """Return what a request is for."""
        if asked.path == "/graphql" or asked.method == "PATCH":
            return "change"
        if _LOOK.fullmatch(asked.path):
            return "look"
        return "create" if asked.method == "POST" else "find"

    def is_authorised(self, asked: Asked, token: str) -> bool:
        """Whether the request holds the token."""
        return asked.authorization == f"Bearer {token}"

    def answer(self, asked: Asked) -> Answer:
        """Carry a request out."""
        if asked.path == "/graphql":
            return self._mark(asked)
        if found := _LOOK.fullmatch(asked.path):
            return self._look(found)
        found = _PULLS.fullmatch(asked.path)
        repository = self._repositories.get(found["repository"]) if found else None
        if found is None or repository is None:
            raise RefusedError(404, "Not Found")
        if found["number"] is None:
            return self._all(asked, repository)
        pull = repository.numbered(found["number"])
        if asked.method == "PATCH":
            pull.title = text(asked.body.get("title")) or pull.title
            pull.body = text(asked.body.get("body")) or pull.body
            pull.target = text(asked.body.get("base")) or pull.target
            if asked.body.get("state") == "closed" and pull.state == "open":
                pull.state = "closed"
        return as_json(200, self._shown(repository, pull))

    def refusal(self, error: RefusedError) -> Answer:
        """Return the answer to a request that is refused."""
        status = 422 if error.status == 409 else error.status  # noqa: PLR2004 (as GitHub does)
        if status != 422:  # noqa: PLR2004
            return as_json(status, {"message": str(error)})
        errors = [{"resource": "PullRequest", "code": "custom", "message": str(error)}]
        return as_json(status, {"message": "Validation Failed", "errors": errors})

    def _all(self, asked: Asked, repository: SimulatedRepository) -> Answer:
        if asked.method == "POST":
            pull = repository.create(
                text(asked.body.get("head")),
                text(asked.body.get("base")),
                text(asked.body.get("title")),
                text(asked.body.get("body")),
                is_draft=asked.body.get("draft") is True,
            )
            return as_json(201, self._shown(repository, pull))
        owner = repository.name.partition("/")[0]
        wanted = asked.query.get("head", "")
        pulls = [
            self._shown(repository, each)
            for each in repository.newest()
            if not wanted or (wanted == f"{owner}:{each.branch}" and not each.is_of_fork)
        ]
        return as_json(200, pulls)

    def _mark(self, asked: Asked) -> Answer:
        query, variables = text(asked.body.get("query")), table(asked.body.get("variables"))
        name, _, number = text(variables.get("id")).rpartition("#")
        repository = self._repositories.get(name)
        if repository is None or not repository.has_drafts:
            return as_json(200, {"data": None, "errors": [{"message": "drafts not supported"}]})
        repository.numbered(number).is_draft = "convertPullRequestToDraft" in query
        return as_json(200, {"data": {}})

    def _look(self, found: re.Match[str]) -> Answer:
        repository = self._repositories.get(found["repository"])
        if repository is None:
            raise RefusedError(404, "Not Found")
        if found["commit"]:
            return _checks(repository, found["commit"], found["of"])
        reviews = repository.numbered(found["number"]).reviews
        if found["what"] == "reviews":
            shown = [
                {
                    "id": each.number,
                    "user": {"login": each.by},
                    "state": each.state.upper(),
                    "body": each.text,
                    "commit_id": each.commit,
                }
                for each in reviews
            ]
            return as_json(200, shown)
        comments = [
            {
                "id": 100 * each.number + index,
                "pull_request_review_id": each.number,
                "user": {"login": each.by},
                "path": comment.path,
                "line": comment.line,
                "body": comment.text,
            }
            for each in reviews
            for index, comment in enumerate(each.comments)
        ]
        return as_json(200, comments)

    def _shown(self, repository: SimulatedRepository, pull: SimulatedPull) -> object:
        return {
            "number": pull.number,
            "node_id": f"{repository.name}#{pull.number}",
            "html_url": f"{self._url}/{repository.name}/pull/{pull.number}",
            "state": "open" if pull.state == "open" else "closed",
            "merged_at": "2026-01-01T00:00:00Z" if pull.state == "merged" else None,
            "draft": pull.is_draft,
            "title": pull.title,
            "body": pull.body.replace("\n", "\r\n"),
            "head": {"ref": pull.branch, "sha": repository.commit_of(pull.branch)},
            "base": {"ref": pull.target},
        }


def _checks(repository: SimulatedRepository, commit: str, of: str) -> Answer:
    if of == "status":
        return as_json(200, {"state": "pending", "statuses": []})
    runs = [
        {
            "name": each.name,
            "status": "in_progress" if each.conclusion == "pending" else "completed",
            "conclusion": None if each.conclusion == "pending" else each.conclusion,
            "html_url": "",
            "output": {"title": each.text, "summary": ""},
        }
        for each in repository.checks_of(commit)
    ]
    return as_json(200, {"total_count": len(runs), "check_runs": runs})
