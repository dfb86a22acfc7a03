"""Pull requests on Gitea and Forgejo, by REST API version 1.

The API filters no pull requests by branch, so `find` reads the newest pages. A draft is one whose
title begins with `WIP:`.
"""

from collections.abc import Mapping
from typing import Final

from activities.adapters.hosting.github_shapes import (
    creation_refused,
    deciding_reviews,
    hosted_pull,
    red_statuses,
    review_remarks,
)
from activities.adapters.hosting.hosting_http import ConflictError, HostingHttp
from activities.adapters.hosting.remark_reading import bounded
from activities.ports.land.hosting_port import HostedPull, HostingRefusedError, PullText
from activities.text.foreign_json import count, table, tables, text
from workflows.domain.pull_request import Remark

_DRAFT: Final = "WIP: "
_DECIDING: Final = frozenset({"REQUEST_CHANGES", "APPROVED"})
_PAGE: Final = 50
_SIZE: Final = ("limit", _PAGE)
_PAGES: Final = 20


def headers(token: str) -> Mapping[str, str]:
    """Return Gitea's headers for a token."""
    return {"Authorization": f"token {token}"}


class GiteaPulls:
    """The pull requests of one repository; see the port."""

    def __init__(self, http: HostingHttp, repository: str) -> None:
        """Take the service and `owner/name`."""
        self._http = http
        self._root = f"/repos/{repository}/pulls"

    async def find(self, branch: str) -> tuple[HostedPull, ...]:
        """Return all pull requests of a branch of the repository itself; of the newest thousand."""
        pulls: list[HostedPull] = []
        for page in range(1, _PAGES + 1):
            query = {"state": "all", "sort": "newest", "limit": str(_PAGE), "page": str(page)}
            found = tables(await self._http.ask("GET", self._root, query=query))
            pulls += [hosted_pull(each, _DRAFT) for each in found if _is_own(each, branch)]
            if not found:
                break
        return tuple(sorted(pulls, key=lambda each: -each.number))

    async def create(self, text: PullText) -> HostedPull:
        """Create a pull request."""
        body = {"head": text.branch, **_fields(text)}
        try:
            found = await self._http.ask("POST", self._root, body)
        except ConflictError as error:
            raise creation_refused("Gitea", error) from error
        return hosted_pull(table(found), _DRAFT)

    async def revise(self, pull: HostedPull, text: PullText) -> HostedPull:
        """Give a pull request another text, and mark it as a draft or as ready."""
        return await self._patch(pull, _fields(text))

    async def close(self, pull: HostedPull) -> HostedPull:
        """Close a pull request."""
        return await self._patch(pull, {"state": "closed"})

    async def remarks(self, pull: HostedPull) -> tuple[Remark, ...]:
        """Return red statuses, and the reviews that ask for changes with their comments."""
        root = self._root.removesuffix("/pulls")
        commit = f"{root}/commits/{pull.commit}"
        statuses = await self._http.listed(f"{commit}/status", _SIZE, "statuses")
        path = f"{self._root}/{pull.number}/reviews"
        reviews = await self._http.listed(path, _SIZE)
        found = list(red_statuses(statuses, pull.commit))
        for each in deciding_reviews(reviews, _DECIDING):
            if each.get("state") == "REQUEST_CHANGES" and each.get("dismissed") is not True:
                comments = await self._http.get(f"{path}/{count(each.get('id'))}/comments")
                found += review_remarks(each, tables(comments), "position")
        return bounded(found)

    async def _patch(self, pull: HostedPull, body: Mapping[str, object]) -> HostedPull:
        try:
            found = await self._http.ask("PATCH", f"{self._root}/{pull.number}", body)
        except ConflictError as error:
            raise HostingRefusedError(f"Gitea refuses the change: {error}") from error
        return hosted_pull(table(found), _DRAFT)


def _fields(text: PullText) -> dict[str, object]:
    return {
        "title": f"{_DRAFT}{text.title}" if text.is_draft else text.title,
        "body": text.body,
        "base": text.target,
    }


def _is_own(found: Mapping[str, object], branch: str) -> bool:
    """Say whether it is of this repository's own branch: a fork may have one of the same name.

    Once the branch is deleted, as after a merge, `ref` names the pull request instead.
    """
    head, base = table(found.get("head")), table(found.get("base"))
    names = {text(head.get("ref")), text(head.get("label"))}
    return head.get("repo_id") == base.get("repo_id") and branch in names
