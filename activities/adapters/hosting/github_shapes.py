"""What GitHub's answers and Gitea's have in common: Gitea's API was modelled on GitHub's."""

from collections.abc import Collection, Iterable, Iterator, Mapping

from activities.adapters.hosting.hosting_http import ConflictError
from activities.adapters.hosting.remark_reading import remark
from activities.ports.land.hosting_port import HostedPull, HostingRefusedError, PullExistsError
from activities.text.foreign_json import Json, count, table, text
from workflows.domain.ids import Commit
from workflows.domain.pull_request import PullState, Remark


def hosted_pull(found: Mapping[str, object], mark: str) -> HostedPull:
    """Return a pull request of an answer.

    Args:
        found: the service's JSON.
        mark: the beginning of a title that marks a draft.
    """
    title = text(found.get("title"))
    is_draft = found.get("draft") is True or title.startswith(mark)
    return HostedPull(
        number=count(found.get("number")),
        url=text(found.get("html_url")),
        state=_state(found, is_draft=is_draft),
        target=text(table(found.get("base")).get("ref")),
        title=title.removeprefix(mark),
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


def login(found: Mapping[str, object]) -> str:
    """Return the name of who wrote a review."""
    return text(table(found.get("user")).get("login"))


def deciding_reviews(reviews: Iterable[Json], deciding: Collection[str]) -> list[Json]:
    """Return each reviewer's newest review of those states; a comment alone asks for nothing."""
    return list({login(each): each for each in reviews if each.get("state") in deciding}.values())


def red_statuses(statuses: Iterable[Json], commit: Commit | None) -> Iterator[Remark]:
    """Yield the statuses of a commit that failed."""
    for each in statuses:
        if each.get("status", each.get("state")) in {"failure", "error"}:
            name = text(each.get("context"))
            yield remark("check", f"{name}@{commit}", name, text(each.get("description")))


def review_remarks(found: Json, comments: Iterable[Json], line: str) -> Iterator[Remark]:
    """Yield a review's own text and its comments.

    Args:
        found: the review.
        comments: those of this review.
        line: the field of a comment that has its line.
    """
    number, by = count(found.get("id")), login(found)
    yield remark("review", f"{number}", by, text(found.get("body")))
    for each in comments:
        name, place = f"{number}/{count(each.get('id'))}", text(each.get("path"))
        yield remark("review", name, by, text(each.get("body")), (place, count(each.get(line))))


def creation_refused(service: str, error: ConflictError) -> PullExistsError | HostingRefusedError:
    """Return what a refused creation means."""
    if "already exists" in str(error):
        return PullExistsError(str(error))
    return HostingRefusedError(f"{service} refuses the pull request: {error}")
