"""Merge requests on GitLab, by REST API version 4."""

from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

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

_DRAFT: Final = "Draft: "


def headers(token: str) -> Mapping[str, str]:
    """Return GitLab's headers for a token: a personal, project or OAuth token."""
    return {"Authorization": f"Bearer {token}"}


class GitLabPulls:
    """The merge requests of one project; see the port."""

    def __init__(self, http: HostingHttp, repository: str) -> None:
        """Take the service and the project's path."""
        self._http = http
        self._root = f"/projects/{quote(repository, safe='')}/merge_requests"

    async def find(self, branch: str) -> tuple[HostedPull, ...]:
        """Return all merge requests of a branch."""
        query = {"source_branch": branch, "state": "all", "per_page": "100"}
        found = await self._http.ask("GET", self._root, query=query)
        pulls = (_pull(each) for each in tables(found) if each.get("source_branch") == branch)
        return tuple(sorted(pulls, key=lambda each: -each.number))

    async def create(self, text: PullText) -> HostedPull:
        """Create a merge request."""
        body = {"source_branch": text.branch, **_fields(text)}
        try:
            return _pull(table(await self._http.ask("POST", self._root, body)))
        except ConflictError as error:
            if "already exists" in str(error):
                raise PullExistsError(str(error)) from error
            raise HostingRefusedError(f"GitLab refuses the merge request: {error}") from error

    async def revise(self, pull: HostedPull, text: PullText) -> HostedPull:
        """Give a merge request another text, and mark it as a draft or as ready."""
        return await self._put(pull, _fields(text))

    async def close(self, pull: HostedPull) -> HostedPull:
        """Close a merge request."""
        return await self._put(pull, {"state_event": "close"})

    async def _put(self, pull: HostedPull, body: Mapping[str, object]) -> HostedPull:
        try:
            found = await self._http.ask("PUT", f"{self._root}/{pull.number}", body)
        except ConflictError as error:
            raise HostingRefusedError(f"GitLab refuses the change: {error}") from error
        return _pull(table(found))


def _fields(text: PullText) -> dict[str, object]:
    return {
        "title": f"{_DRAFT}{text.title}" if text.is_draft else text.title,
        "description": text.body,
        "target_branch": text.target,
    }


def _pull(found: Mapping[str, object]) -> HostedPull:
    title = text(found.get("title"))
    is_draft = found.get("draft") is True or title.startswith(_DRAFT)
    return HostedPull(
        number=count(found.get("iid")),
        url=text(found.get("web_url")),
        state=_state(text(found.get("state")), is_draft=is_draft),
        target=text(found.get("target_branch")),
        title=title.removeprefix(_DRAFT),
        body=text(found.get("description")),
        commit=Commit(text(found.get("sha"))) or None,
    )


def _state(state: str, *, is_draft: bool) -> PullState:
    if state in {"merged", "closed"}:
        return PullState(state)
    return PullState.DRAFT if is_draft else PullState.OPEN
