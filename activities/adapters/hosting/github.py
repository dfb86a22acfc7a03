"""Pull requests on GitHub, and on GitHub Enterprise Server, by REST API version 2022-11-28.

A draft becomes ready only by GraphQL. Where drafts are not offered (private repositories of some
plans), the title says `Draft:` instead.
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

_DRAFT: Final = "Draft: "
_READY: Final = (
    "mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) "
    "{ pullRequest { isDraft } } }"
)
_UNREADY: Final = (
    "mutation($id: ID!) { convertPullRequestToDraft(input: {pullRequestId: $id}) "
    "{ pullRequest { isDraft } } }"
)


def headers(token: str) -> Mapping[str, str]:
    """Return GitHub's headers for a token."""
    return {
        "Authorization": f"Bearer {token}",
        "Accept": "application/vnd.github+json",
        "X-GitHub-Api-Version": "2022-11-28",
    }


class GitHubPulls:
    """The pull requests of one repository; see the port."""

    def __init__(self, http: HostingHttp, repository: str) -> None:
        """Take the service and `owner/name`."""
        self._http = http
        self._root = f"/repos/{repository}"
        self._owner = repository.partition("/")[0]

    async def find(self, branch: str) -> tuple[HostedPull, ...]:
        """Return all pull requests of a branch."""
        query = {"head": f"{self._owner}:{branch}", "state": "all", "per_page": "100"}
        found = await self._http.ask("GET", f"{self._root}/pulls", query=query)
        pulls = (_pull(each) for each in tables(found) if _branch(each) == branch)
        return tuple(sorted(pulls, key=lambda each: -each.number))

    async def create(self, text: PullText) -> HostedPull:
        """Create a pull request."""
        try:
            return await self._create(text, is_draft=text.is_draft)
        except ConflictError as error:
            if text.is_draft and "draft" in str(error).lower():
                return await self._create(text, is_draft=False)
            raise

    async def _create(self, text: PullText, *, is_draft: bool) -> HostedPull:
        body = {
            "title": text.title if is_draft == text.is_draft else f"{_DRAFT}{text.title}",
            "head": text.branch,
            "base": text.target,
            "body": text.body,
            "draft": is_draft,
        }
        try:
            return _pull(table(await self._http.ask("POST", f"{self._root}/pulls", body)))
        except ConflictError as error:
            if "already exists" in str(error):
                raise PullExistsError(str(error)) from error
            if text.is_draft and "draft" in str(error).lower():
                raise
            raise HostingRefusedError(f"GitHub refuses the pull request: {error}") from error

    async def revise(self, pull: HostedPull, text: PullText) -> HostedPull:
        """Give a pull request another text, and mark it as a draft or as ready."""
        body: dict[str, object] = {"body": text.body, "base": text.target, "title": text.title}
        is_marked = (pull.state is PullState.DRAFT) == text.is_draft
        if not is_marked and await self._mark(pull, is_draft=text.is_draft):
            is_marked = True
        if not is_marked and text.is_draft:
            body["title"] = f"{_DRAFT}{text.title}"
        return await self._patch(pull, body)

    async def close(self, pull: HostedPull) -> HostedPull:
        """Close a pull request."""
        return await self._patch(pull, {"state": "closed"})

    async def _patch(self, pull: HostedPull, body: Mapping[str, object]) -> HostedPull:
        try:
            found = await self._http.ask("PATCH", f"{self._root}/pulls/{pull.number}", body)
        except ConflictError as error:
            raise HostingRefusedError(f"GitHub refuses the change: {error}") from error
        return _pull(table(found))

    async def _mark(self, pull: HostedPull, *, is_draft: bool) -> bool:
        """Mark as a draft or as ready; return False if the repository offers no drafts."""
        query = _UNREADY if is_draft else _READY
        body = {"query": query, "variables": {"id": pull.handle}}
        url = self._http.service.url
        address = f"{url.removesuffix('/v3')}/graphql" if url.endswith("/api/v3") else "/graphql"
        found = table(await self._http.ask("POST", address, body))
        return not tables(found.get("errors"))


def _branch(found: Mapping[str, object]) -> str:
    return text(table(found.get("head")).get("ref"))


def _pull(found: Mapping[str, object]) -> HostedPull:
    title = text(found.get("title"))
    is_titled = title.startswith(_DRAFT)
    is_draft = found.get("draft") is True or is_titled
    return HostedPull(
        number=count(found.get("number")),
        url=text(found.get("html_url")),
        state=_state(found, is_draft=is_draft),
        target=text(table(found.get("base")).get("ref")),
        title=title.removeprefix(_DRAFT),
        body=text(found.get("body")),
        commit=Commit(text(table(found.get("head")).get("sha"))) or None,
        handle=text(found.get("node_id")),
    )


def _state(found: Mapping[str, object], *, is_draft: bool) -> PullState:
    if text(found.get("merged_at")) or found.get("merged") is True:
        return PullState.MERGED
    if found.get("state") == "closed":
        return PullState.CLOSED
    return PullState.DRAFT if is_draft else PullState.OPEN
