"""The issues of simulated repositories, as each of the three APIs shows them.

Reading needs the token only where the repository is private; as on the services, it then does not
exist for anyone else.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from activities.adapters.hosting.simulated_hosting.simulated_answer import (
    Answer,
    Asked,
    RefusedError,
    as_json,
)
from activities.ports.land.hosting_entries import Api

_PATH: Final = re.compile(
    r"/(?:repos/(?P<repository>[^/]+/[^/]+)|projects/(?P<project>[^/]+))/issues"
    r"(?:/(?P<number>\d+))?"
)


@dataclass
class SimulatedIssue:
    """One issue."""

    number: int
    title: str
    body: str = ""
    labels: tuple[str, ...] = ()
    is_open: bool = True
    is_pull: bool = False
    """GitHub and Gitea show pull requests as issues, too."""


@dataclass
class SimulatedTracker:
    """The issues of one repository."""

    issues: list[SimulatedIssue]
    is_private: bool = False


class SimulatedIssues:
    """Answers what concerns issues; the rest is the pull requests'."""

    def __init__(self, api: Api) -> None:
        """Take the API that is spoken."""
        self._api = api
        self._trackers: dict[str, SimulatedTracker] = {}

    def add(self, repository: str, tracker: SimulatedTracker) -> None:
        """Give a repository its issues.

        Args:
            repository: `owner/name`.
            tracker: the issues; may be changed later.
        """
        self._trackers[repository] = tracker

    def concerns(self, asked: Asked) -> bool:
        """Tell whether a request is about issues."""
        return asked.method == "GET" and _PATH.fullmatch(asked.path) is not None

    def answer(self, asked: Asked, url: str, *, is_authorised: bool) -> Answer:
        """Answer a request about issues.

        Args:
            asked: the request.
            url: the service's address, in which the issues' own begin.
            is_authorised: whether it held the token.

        Raises:
            RefusedError: 404 where there is nothing, or nothing for this caller.
        """
        found = _PATH.fullmatch(asked.path)
        name = unquote((found["repository"] or found["project"]) if found else "")
        tracker = self._trackers.get(name)
        if found is None or tracker is None or (tracker.is_private and not is_authorised):
            raise RefusedError(404, "Not Found")
        at = f"{url}/{name}{'/-' if self._api == 'gitlab' else ''}/issues"
        if found["number"] is None:
            shown = [self._shown(each, at) for each in _asked_for(tracker, asked.query)]
            size = int(asked.query.get("limit" if self._api == "gitea" else "per_page", "30"))
            start = (int(asked.query.get("page", "1")) - 1) * size
            return as_json(200, shown[start : start + size])
        for each in tracker.issues:
            if each.number == int(found["number"]):
                return as_json(200, self._shown(each, at))
        raise RefusedError(404, "Not Found")

    def _shown(self, issue: SimulatedIssue, at: str) -> object:
        if self._api == "gitlab":
            return {
                "iid": issue.number,
                "web_url": f"{at}/{issue.number}",
                "title": issue.title,
                "description": issue.body or None,
                "labels": list(issue.labels),
                "state": "opened" if issue.is_open else "closed",
            }
        shown: dict[str, object] = {
            "number": issue.number,
            "html_url": f"{at}/{issue.number}",
            "title": issue.title,
            "body": issue.body or None,
            "labels": [{"name": name} for name in issue.labels],
            "state": "open" if issue.is_open else "closed",
        }
        if issue.is_pull:
            shown["pull_request"] = {"html_url": f"{at}/{issue.number}"}
        elif self._api == "gitea":
            shown["pull_request"] = None
        return shown


def _asked_for(tracker: SimulatedTracker, query: Mapping[str, str]) -> list[SimulatedIssue]:
    """Return what a list holds; like Gitea, everything for a label that no issue has."""
    label, is_open = query.get("labels", ""), query.get("state") in {"open", "opened"}
    known = {name for each in tracker.issues for name in each.labels}
    return [
        each
        for each in tracker.issues
        if each.is_open is is_open and (label in each.labels or label not in known)
    ]
