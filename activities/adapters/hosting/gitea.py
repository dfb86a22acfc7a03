"""Pull requests on Gitea and Forgejo, by REST API version 1.

The API filters no pull requests by branch, so `find` reads the newest pages. A draft is one whose
title begins with `WIP:`.
"""

from collections.abc import Mapping
from typing import Final

from activities.adapters.hosting.hosting_http import ConflictError, HostingHttp
from activities.ports.hosting_port import (
    HostedPull,
    HostingRefusedError,
    PullExistsError,
    PullText,
)
from activities.text.foreign_json import count, table, tables, text
from workflows.domain.ids import Commit
from workflows.domain.pull_request import PullState

_DRAFT: Final = "WIP: "
_PAGE: Final = 50
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
        """Return all pull requests of a branch among the newest thousand."""
        pulls: list[HostedPull] = []
        for page in range(1, _PAGES + 1):
            query = {"state": "all", "sort": "newest", "limit": str(_PAGE), "page": str(page)}
            found = tables(await self._http.ask("GET", self._root, query=query))
            pulls += [_pull(each) for each in found if _branch(each) == branch]
            if not found:
                break
        return tuple(sorted(pulls, key=lambda each: -each.number))

    async def create(self, text: PullText) -> HostedPull:
        """Create a pull request."""
        body = {"head": text.branch, **_fields(text)}
        try:
            return _pull(table(await self._http.ask("POST", self._root, body)))
        except ConflictError as error:
            if "already exists" in str(error):
                raise PullExistsError(str(error)) from error
            raise HostingRefusedError(f"Gitea refuses the pull request: {error}") from error

    async def revise(self, pull: HostedPull, text: PullText) -> HostedPull:
        """Give a pull request another text, and mark it as a draft or as ready."""
        return await self._patch(pull, _fields(text))

    async def close(self, pull: HostedPull) -> HostedPull:
        """Close a pull request."""
        return await self._patch(pull, {"state": "closed"})

    async def _patch(self, pull: HostedPull, body: Mapping[str, object]) -> HostedPull:
        try:
            found = await self._http.ask("PATCH", f"{self._root}/{pull.number}", body)
        except ConflictError as error:
            raise HostingRefusedError(f"Gitea refuses the change: {error}") from error
        return _pull(table(found))


def _fields(text: PullText) -> dict[str, object]:
    return {
        "title": f"{_DRAFT}{text.title}" if text.is_draft else text.title,
        "body": text.body,
        "base": text.target,
    }


def _branch(found: Mapping[str, object]) -> str:
    return text(table(found.get("head")).get("ref"))


def _pull(found: Mapping[str, object]) -> HostedPull:
    title = text(found.get("title"))
    is_draft = found.get("draft") is True or title.startswith(_DRAFT)
    return HostedPull(
        number=count(found.get("number")),
        url=text(found.get("html_url")),
        state=_state(found, is_draft=is_draft),
        target=text(table(found.get("base")).get("ref")),
        title=title.removeprefix(_DRAFT),
        body=text(found.get("body")),
        commit=Commit(text(table(found.get("head")).get("sha"))) or None,
    )


def _state(found: Mapping[str, object], *, is_draft: bool) -> PullState:
    if found.get("merged") is True:
        return PullState.MERGED
    if found.get("state") == "closed":
        return PullState.CLOSED
    return PullState.DRAFT if is_draft else PullState.OPEN
