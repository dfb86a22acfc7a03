"""Merge requests on GitLab, by REST API version 4."""

from collections.abc import Collection, Mapping
from typing import Final
from urllib.parse import quote

from activities.adapters.hosting.hosting_http import ConflictError, HostingHttp
from activities.adapters.hosting.remark_reading import bounded, remark
from activities.ports.land.hosting_port import (
    HostedPull,
    HostingRefusedError,
    PullExistsError,
    PullText,
)
from activities.text.foreign_json import count, table, tables, text
from workflows.domain.ids import Commit
from workflows.domain.pull_request import PullState, Remark

_DRAFT: Final = "Draft: "
_SIZE: Final = ("per_page", 100)


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
        """Return all merge requests of a branch of the project itself."""
        query = {"source_branch": branch, "state": "all", "per_page": "100"}
        found = await self._http.ask("GET", self._root, query=query)
        pulls = (_pull(each) for each in tables(found) if _is_own(each, branch))
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

    async def remarks(self, pull: HostedPull) -> tuple[Remark, ...]:
        """Return failed jobs, and the open discussions of reviewers who ask for changes."""
        root = self._root.removesuffix("/merge_requests")
        path = f"{self._root}/{pull.number}"
        commit = f"{root}/repository/commits/{pull.commit}"
        statuses = await self._http.listed(f"{commit}/statuses", _SIZE)
        reviewers = tables(await self._http.get(f"{path}/reviewers", per_page=100))
        asking = {_user(each) for each in reviewers if each.get("state") == "requested_changes"}
        found = [
            remark("check", f"{name}@{pull.commit}", name, text(each.get("description")))
            for each in statuses
            if each.get("status") == "failed" and each.get("allow_failure") is not True
            for name in [text(each.get("name"))]
        ]
        if asking:
            discussions = await self._http.listed(f"{path}/discussions", _SIZE)
            notes = [note for each in discussions for note in tables(each.get("notes"))[:1]]
            open_notes = [_note(each) for each in notes if _is_open(each, asking)]
            found += open_notes or [remark("review", name, name, "") for name in sorted(asking)]
        return bounded(found)

    async def _put(self, pull: HostedPull, body: Mapping[str, object]) -> HostedPull:
        try:
            found = await self._http.ask("PUT", f"{self._root}/{pull.number}", body)
        except ConflictError as error:
            raise HostingRefusedError(f"GitLab refuses the change: {error}") from error
        return _pull(table(found))


def _is_own(found: Mapping[str, object], branch: str) -> bool:
    """Say whether it is of this project's own branch: a fork may have one of the same name."""
    is_of_project = found.get("source_project_id") == found.get("target_project_id")
    return is_of_project and found.get("source_branch") == branch


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


def _user(found: Mapping[str, object]) -> str:
    return text(table(found.get("user")).get("username"))


def _is_open(note: Mapping[str, object], asking: Collection[str]) -> bool:
    is_told = note.get("resolvable") is True and note.get("resolved") is not True
    return is_told and text(table(note.get("author")).get("username")) in asking


def _note(note: Mapping[str, object]) -> Remark:
    place, by = table(note.get("position")), text(table(note.get("author")).get("username"))
    name, path = str(count(note.get("id"))), text(place.get("new_path"))
    line = count(place.get("new_line"))
    return remark("review", name, by, text(note.get("body")), (path, line))
