"""Issues on GitHub, GitLab, Gitea and Forgejo: one by its number, or the open ones with a label.

GitHub and Gitea list pull requests among issues; those are left out. Gitea returns every issue for
a label that does not exist, so what comes is filtered by label here.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple
from urllib.parse import quote

from activities.adapters.hosting import gitea, github, gitlab
from activities.adapters.hosting.configured_services import ConfiguredServices
from activities.adapters.hosting.hosting_http import HostingHttp
from activities.adapters.hosting.hosting_tokens import find_token
from activities.ports.land.hosting_entries import (
    Api,
    HostingEntry,
    HostingService,
    RemoteAddress,
)
from activities.ports.land.hosting_port import HostingRefusedError
from activities.ports.land.issue_port import HostedIssue
from activities.text.foreign_json import count, is_list, table, tables, text

_MOST: Final = 100
_PAGE: Final = 50
_ANY: Final = HostingEntry(repositories=("*",))
_HEADERS: Final = {"github": github.headers, "gitlab": gitlab.headers, "gitea": gitea.headers}
_GONE: Final = 410
_MOVED: Final = frozenset({301, 302, 307, 308})
_HIDDEN: Final = frozenset({401, 403, 404})


class _Form(NamedTuple):
    """How one API names things."""

    root: str
    """Of a repository's issues; `{}` is the repository."""
    open_: str
    body: str
    number: str
    url: str
    more: Mapping[str, str]
    """What else a list is asked for."""


_OLDEST_FIRST: Final = {"sort": "created", "direction": "asc"}
_FORMS: Final[Mapping[Api, _Form]] = {
    "github": _Form("/repos/{}/issues", "open", "body", "number", "html_url", _OLDEST_FIRST),
    "gitlab": _Form(
        "/projects/{}/issues",
        "opened",
        "description",
        "iid",
        "web_url",
        {"order_by": "created_at", "sort": "asc"},
    ),
    "gitea": _Form("/repos/{}/issues", "open", "body", "number", "html_url", {"type": "issues"}),
}


class IssueServices(ConfiguredServices):
    """The services that issues are read from: those of `hosting`, and the well-known ones."""

    async def of(self, address: RemoteAddress) -> "HostedIssues":
        """Return the issues of a repository; without a token, what everyone may read.

        Raises:
            HostingRefusedError: it is not known which API the host speaks.
        """
        service = self._services.get(address.host) or _well_known(address.host)
        token = await find_token(service, self._own_environment(address.host))

        async def known() -> str:
            return token

        http = HostingHttp(service, known, _HEADERS[service.api], self._wire)
        return HostedIssues(http, address.repository, is_anonymous=not token)

    def _own_environment(self, host: str) -> Mapping[str, str]:
        """Return the environment; for an unnamed host, without the tokens of those that are named.

        `GITLAB_TOKEN` is of the person's own GitLab if they named one: no other host is to get it.
        """
        if host in self._services:
            return self._environment
        taken = {name for each in self._services.values() for name in each.tokens}
        return {name: value for name, value in self._environment.items() if name not in taken}


def _well_known(host: str) -> HostingService:
    try:
        return _ANY.at(host)
    except ValueError:
        entry = f"hosting: {{{host}: {{api: gitea, repositories: [OWNER/NAME]}}}}"
        raise HostingRefusedError(
            f"it is not known which API {host!r} speaks (github, gitlab or gitea); say so in your "
            f"own configuration, as in `{entry}`"
        ) from None


class HostedIssues:
    """The issues of one repository; see the port."""

    def __init__(self, http: HostingHttp, repository: str, *, is_anonymous: bool) -> None:
        """Take the service, `owner/name`, and whether requests go without a token."""
        self._http = http
        self._repository = repository
        self._is_anonymous = is_anonymous
        api = http.service.api
        self._form = _FORMS[api]
        name = quote(repository, safe="") if api == "gitlab" else repository
        self._root = self._form.root.replace("{}", name)

    async def issue(self, number: int) -> HostedIssue:
        """Return one issue."""
        what = f"issue {number} of {self._repository!r} on {self._http.service.host!r}"
        found = self._read(table(await self._asked(f"{self._root}/{number}", {}, what)))
        if found.is_pull:
            text = f"{what} is a pull request, not an issue; give the address of an issue"
            raise HostingRefusedError(text)
        return found

    async def labelled(self, label: str) -> tuple[HostedIssue, ...]:
        """Return the open issues with a label, the oldest first."""
        found: list[HostedIssue] = []
        what = f"{self._repository!r} on {self._http.service.host!r}"
        for page in range(1, _MOST // _PAGE + 1):
            query = {"state": self._form.open_, "labels": label, "page": str(page)}
            query |= {"per_page": str(_PAGE), "limit": str(_PAGE), **self._form.more}
            shown = tables(await self._asked(self._root, query, what))
            found += map(self._read, shown)
            if len(shown) < _PAGE:
                break
        return tuple(sorted(_with_label(found, label), key=lambda each: each.number))

    async def _asked(self, path: str, query: Mapping[str, str], what: str) -> object:
        try:
            return await self._http.ask("GET", path, query=query)
        except HostingRefusedError as error:
            raise HostingRefusedError(self._words(error, what), error.status) from None

    def _words(self, error: HostingRefusedError, what: str) -> str:
        names = " or ".join(self._http.service.tokens)
        if error.status == _GONE:
            return f"{what} was deleted"
        if error.status in _MOVED:
            return f"{what} was moved; open it in a browser, and give the address that it has now"
        if error.status not in _HIDDEN:
            return str(error)
        if self._is_anonymous:
            return (
                f"{what} does not exist, or not everyone may read it: set {names}, or log in with "
                "the service's own program (`gh`, `glab`)"
            )
        return (
            f"{what} does not exist, or the token may not read it (status {error.status}): check "
            f"{names}"
        )

    def _read(self, found: Mapping[str, object]) -> HostedIssue:
        form = self._form
        return HostedIssue(
            number=count(found.get(form.number)),
            url=text(found.get(form.url)),
            title=text(found.get("title")),
            body=text(found.get(form.body)),
            labels=tuple(filter(None, map(_label, _listed(found.get("labels"))))),
            is_open=found.get("state") == form.open_,
            is_pull=bool(table(found.get("pull_request"))),
        )


def _listed(value: object) -> Sequence[object]:
    return value if is_list(value) else ()


def _label(value: object) -> str:
    """Return a label's name: GitLab lists names, the others objects."""
    return text(value) or text(table(value).get("name"))


def _with_label(issues: Iterable[HostedIssue], label: str) -> Iterable[HostedIssue]:
    wanted = label.casefold()
    for each in issues:
        names = {name.casefold() for name in each.labels}
        if wanted in names and each.is_open and not each.is_pull:
            yield each
