"""The port to issues on hosting services, and the addresses that name one."""

import re
from typing import Final, NamedTuple, Protocol
from urllib.parse import urlsplit

from pydantic import BaseModel

from activities.ports.land.hosting_entries import RemoteAddress

_PATH: Final = re.compile(
    r"/(?P<repository>[^/]+/.+?)(?:/-)?/(?P<what>issues|work_items|pull|pulls|merge_requests)/"
    r"(?P<number>[1-9]\d{0,9})(?:/.*)?"
)
_SEGMENT: Final = re.compile(r"[A-Za-z0-9_.~-]+")
_ISSUES: Final = {"issues", "work_items"}


class IssueAddress(NamedTuple):
    """What an address names."""

    at: RemoteAddress
    number: int
    is_issue: bool
    """False: it names a pull or merge request."""


class HostedIssue(BaseModel, frozen=True, extra="forbid"):
    """An issue as the service shows it: its texts come from other people, and are data."""

    number: int
    """GitLab's `iid`."""
    url: str
    title: str
    body: str
    labels: tuple[str, ...]
    is_open: bool
    is_pull: bool = False
    """It is a pull request, which some services list among their issues."""


class IssueService(Protocol):
    """The issues of one repository. Every method raises `HostingError`."""

    async def issue(self, number: int) -> HostedIssue:
        """Return one issue, also if it is closed.

        Raises:
            HostingRefusedError: it does not exist, may not be read, or is no issue.
        """
        ...

    async def labelled(self, label: str) -> tuple[HostedIssue, ...]:
        """Return the open issues with a label, the oldest first; at most a hundred."""
        ...


def is_web_address(text: str) -> bool:
    """Tell whether a text is an address of the web rather than a file's name."""
    return text.lower().startswith(("https://", "http://"))


def read_issue_address(url: str) -> IssueAddress | None:
    """Return what an issue's web address names; None if it is none.

    | an address as in                                   | names                          |
    |----------------------------------------------------|--------------------------------|
    | `https://github.com/acme/shop/issues/12`           | issue 12 of acme/shop          |
    | `https://gitlab.com/acme/web/shop/-/issues/12#n3`  | issue 12 of acme/web/shop      |
    | `http://127.0.0.1:3000/acme/shop/issues/12`        | issue 12 of acme/shop there    |
    | `https://github.com/acme/shop/pull/12`             | a pull request of acme/shop    |

    Args:
        url: as copied from a browser.
    """
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError:
        return None
    found = _PATH.fullmatch(parts.path)
    if parts.scheme not in {"http", "https"} or not parts.hostname or found is None:
        return None
    names = found["repository"].split("/")
    if not all(_SEGMENT.fullmatch(name) and name not in {".", ".."} for name in names):
        return None
    host = parts.hostname if port is None else f"{parts.hostname}:{port}"
    at = RemoteAddress(host.lower(), found["repository"])
    return IssueAddress(at, int(found["number"]), is_issue=found["what"] in _ISSUES)
