"""Pull requests on GitHub, and on GitHub Enterprise Server, by REST API version 2022-11-28.

A draft becomes ready only by GraphQL. Where drafts are not offered (private repositories of some
plans), the title says `Draft:` instead.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from activities.adapters.hosting.github_shapes import (
    creation_refused,
    deciding_reviews,
    hosted_pull,
    red_statuses,
    review_remarks,
)
from activities.adapters.hosting.hosting_http import ConflictError, HostingHttp
from activities.adapters.hosting.remark_reading import bounded, remark
from activities.ports.land.hosting_port import HostedPull, HostingRefusedError, PullText
from activities.text.foreign_json import Json, table, tables, text
from workflows.domain.ids import Commit
from workflows.domain.pull_request import PullState, Remark

_DRAFT: Final = "Draft: "
_SIZE: Final = ("per_page", 100)
_RED: Final = frozenset({"failure", "timed_out", "action_required", "startup_failure"})
_DECIDING: Final = frozenset({"CHANGES_REQUESTED", "APPROVED", "DISMISSED"})
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
        pulls = (hosted_pull(each, _DRAFT) for each in tables(found) if _branch(each) == branch)
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
            found = await self._http.ask("POST", f"{self._root}/pulls", body)
        except ConflictError as error:
            is_about_drafts = text.is_draft and "draft" in str(error).lower()
            if is_about_drafts and "already exists" not in str(error):
                raise
            raise creation_refused("GitHub", error) from error
        return hosted_pull(table(found), _DRAFT)

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

    async def remarks(self, pull: HostedPull) -> tuple[Remark, ...]:
        """Return red checks, and the reviews that ask for changes with their comments."""
        root = self._root
        commit = f"{root}/commits/{pull.commit}"
        runs = await self._http.listed(f"{commit}/check-runs", _SIZE, "check_runs")
        statuses = await self._http.listed(f"{commit}/status", _SIZE, "statuses")
        reviews = await self._http.listed(f"{root}/pulls/{pull.number}/reviews", _SIZE)
        newest = deciding_reviews(reviews, _DECIDING)
        asking = [each for each in newest if each.get("state") == "CHANGES_REQUESTED"]
        comments: list[Json] = []
        if asking:
            path = f"{root}/pulls/{pull.number}/comments"
            comments = await self._http.listed(path, _SIZE)
        found = [*_red_runs(runs, pull.commit), *red_statuses(statuses, pull.commit)]
        for each in asking:
            own = [one for one in comments if one.get("pull_request_review_id") == each.get("id")]
            found += review_remarks(each, own, "line")
        return bounded(found)

    async def _patch(self, pull: HostedPull, body: Mapping[str, object]) -> HostedPull:
        try:
            found = await self._http.ask("PATCH", f"{self._root}/pulls/{pull.number}", body)
        except ConflictError as error:
            raise HostingRefusedError(f"GitHub refuses the change: {error}") from error
        return hosted_pull(table(found), _DRAFT)

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


def _red_runs(runs: Iterable[Json], commit: Commit | None) -> Iterator[Remark]:
    for each in runs:
        if each.get("conclusion") in _RED:
            name, output = text(each.get("name")), table(each.get("output"))
            words = f"{text(output.get('title'))}\n{text(output.get('summary'))}"
            yield remark("check", f"{name}@{commit}", name, words)
