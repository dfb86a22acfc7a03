"""The part of GitLab's REST API that Blue Flame uses, simulated."""

import re
from collections.abc import Mapping
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
from activities.text.foreign_json import text

_REQUESTS = re.compile(
    r"/projects/(?P<repository>[^/]+)/merge_requests(?:/(?P<number>\d+))?"
    r"(?:/(?P<what>reviewers|discussions|pipelines))?"
)
_STATES = {"open": "opened", "closed": "closed", "merged": "merged"}


class SimulatedGitLab:
    """Answers as `gitlab.com/api/v4` would."""

    def __init__(self, url: str, repositories: Mapping[str, SimulatedRepository]) -> None:
        """Take the address of the pages, and the projects by path."""
        self._url = url
        self._repositories = repositories

    def operation(self, asked: Asked) -> Operation:
        """Return what a request is for."""
        if asked.path.rpartition("/")[2] in {"reviewers", "discussions", "statuses"}:
            return "look"
        if asked.method == "PUT":
            return "change"
        return "create" if asked.method == "POST" else "find"

    def is_authorised(self, asked: Asked, token: str) -> bool:
        """Whether the request holds the token."""
        return asked.authorization == f"Bearer {token}"

    def answer(self, asked: Asked) -> Answer:
        """Carry a request out."""
        if asked.path.endswith("/statuses"):
            return self._statuses(asked)
        found = _REQUESTS.fullmatch(asked.path)
        repository = self._repositories.get(unquote(found["repository"])) if found else None
        if found is None or repository is None:
            raise RefusedError(404, "404 Project Not Found")
        if found["number"] is None:
            return self._all(asked, repository)
        pull = repository.numbered(found["number"])
        if found["what"]:
            return _look(pull, found["what"])
        if asked.method == "PUT":
            pull.title = text(asked.body.get("title")) or pull.title
            pull.body = text(asked.body.get("description")) or pull.body
            pull.target = text(asked.body.get("target_branch")) or pull.target
            if asked.body.get("state_event") == "close" and pull.state == "open":
                pull.state = "closed"
        return as_json(200, self._shown(repository, pull))

    def refusal(self, error: RefusedError) -> Answer:
        """Return the answer to a request that is refused."""
        if error.status == 409:  # noqa: PLR2004
            said = str(error).replace("a pull request", "Another open merge request")
            return as_json(409, {"message": [said]})
        return as_json(error.status, {"message": str(error)})

    def _all(self, asked: Asked, repository: SimulatedRepository) -> Answer:
        if asked.method == "POST":
            pull = repository.create(
                text(asked.body.get("source_branch")),
                text(asked.body.get("target_branch")),
                text(asked.body.get("title")),
                text(asked.body.get("description")),
                is_draft=False,
            )
            return as_json(201, self._shown(repository, pull))
        wanted = asked.query.get("source_branch", "")
        pulls = [
            self._shown(repository, each)
            for each in repository.newest()
            if wanted in {"", each.branch}
        ]
        return as_json(200, pulls)

    def _statuses(self, asked: Asked) -> Answer:
        parts = asked.path.split("/")
        repository = self._repositories.get(unquote(parts[2]))
        if repository is None:
            raise RefusedError(404, "404 Project Not Found")
        words = {"success": "success", "failure": "failed", "pending": "running"}
        checks = [
            {"name": each.name, "status": words[each.conclusion], "description": each.text}
            for each in repository.checks_of(parts[5])
        ]
        return as_json(200, checks)

    def _shown(self, repository: SimulatedRepository, pull: SimulatedPull) -> object:
        return {
            "iid": pull.number,
            "id": 1000 + pull.number,
            "web_url": f"{self._url}/{repository.name}/-/merge_requests/{pull.number}",
            "state": _STATES[pull.state],
            "draft": pull.title.startswith("Draft: "),
            "title": pull.title,
            "description": pull.body,
            "source_branch": pull.branch,
            "source_project_id": 2 if pull.is_of_fork else 1,
            "target_project_id": 1,
            "target_branch": pull.target,
            "sha": repository.commit_of(pull.branch),
        }


def _look(pull: SimulatedPull, what: str) -> Answer:
    words = {
        "changes_requested": "requested_changes",
        "approved": "approved",
        "commented": "reviewed",
        "dismissed": "unreviewed",
    }
    if what == "reviewers":
        shown = [{"user": {"username": r.by}, "state": words[r.state]} for r in pull.reviews]
        return as_json(200, shown)
    discussions = [
        {
            "id": f"{each.number}-{index}",
            "notes": [
                {
                    "id": 100 * each.number + index,
                    "body": note,
                    "author": {"username": each.by},
                    "system": False,
                    "resolvable": True,
                    "resolved": each.state == "dismissed",
                    "position": None if path is None else {"new_path": path, "new_line": line},
                }
            ],
        }
        for each in pull.reviews
        for index, (path, line, note) in enumerate(
            [(None, 0, each.text)] * bool(each.text)
            + [(c.path, c.line, c.text) for c in each.comments]
        )
    ]
    return as_json(200, discussions)
