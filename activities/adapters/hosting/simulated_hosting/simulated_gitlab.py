"""The part of GitLab's REST API that Blue Flame uses, simulated."""

import re
from collections.abc import Iterable, Iterator, Mapping
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
    SimulatedReview,
)

_PROJECT = r"/projects/(?P<repository>[^/]+)"
_REQUEST = rf"{_PROJECT}/merge_requests/(?P<number>\d+)"
_STATES = {"open": "opened", "closed": "closed", "merged": "merged"}
_CHECK_STATES = {"success": "success", "failure": "failed", "pending": "running"}
_REVIEW_STATES = {
    "changes_requested": "requested_changes",
    "approved": "approved",
    "commented": "reviewed",
    "dismissed": "unreviewed",
}


def _statuses(repository: SimulatedRepository, found: re.Match[str]) -> object:
    return [
        {"name": each.name, "status": _CHECK_STATES[each.conclusion], "description": each.text}
        for each in repository.checks_of(found["commit"])
    ]


def _reviewers(repository: SimulatedRepository, found: re.Match[str]) -> object:
    newest = {each.by: each.state for each in repository.numbered(found["number"]).reviews}
    return [
        {"user": {"username": name}, "state": _REVIEW_STATES[state]}
        for name, state in newest.items()
    ]


def _discussions(repository: SimulatedRepository, found: re.Match[str]) -> object:
    reviews = repository.numbered(found["number"]).reviews
    return [discussion for each in reviews for discussion in _threads(each)]


def _threads(review: SimulatedReview) -> Iterator[object]:
    own = [(None, 0, review.text)] if review.text else []
    places = [(each.path, each.line, each.text) for each in review.comments]
    for index, (path, line, said) in enumerate([*own, *places]):
        note = {
            "id": 100 * review.number + index,
            "body": said,
            "author": {"username": review.by},
            "system": False,
            "resolvable": True,
            "resolved": review.state == "dismissed",
            "position": None if path is None else {"new_path": path, "new_line": line},
        }
        yield {"id": f"{review.number}-{index}", "notes": [note]}


class SimulatedGitLab(SimulatedApi):
    """Answers as `gitlab.com/api/v4` would."""

    pulls = re.compile(rf"{_PROJECT}/merge_requests(?:/(?P<number>\d+))?")
    looks: ClassVar[Mapping[re.Pattern[str], Look]] = {
        re.compile(rf"{_PROJECT}/repository/commits/(?P<commit>[^/]+)/statuses"): _statuses,
        re.compile(rf"{_REQUEST}/reviewers"): _reviewers,
        re.compile(rf"{_REQUEST}/discussions"): _discussions,
    }
    scheme = "Bearer"
    fields = Fields("source_branch", "target_branch", "description", ("state_event", "close"))
    missing = "404 Project Not Found"
    change = "PUT"

    def refusal(self, error: RefusedError) -> Answer:
        """Return the answer to a request that is refused."""
        if error.status == 409:  # noqa: PLR2004
            said = str(error).replace("a pull request", "Another open merge request")
            return as_json(409, {"message": [said]})
        return as_json(error.status, {"message": str(error)})

    def listed(self, repository: SimulatedRepository, asked: Asked) -> Iterable[SimulatedPull]:
        """Return those of the branch that is asked for, of forks too."""
        wanted = asked.query.get("source_branch", "")
        return [each for each in repository.newest() if wanted in {"", each.branch}]

    def shown(self, repository: SimulatedRepository, pull: SimulatedPull) -> object:
        """Return the JSON of a merge request."""
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
            "sha": repository.head_of(pull),
        }
