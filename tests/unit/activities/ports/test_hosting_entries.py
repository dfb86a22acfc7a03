"""A person's hosting entries: what they allow, where tokens go, and which remotes they cover."""

import pytest
from pydantic import TypeAdapter, ValidationError

from activities.ports.land.hosting_entries import (
    HostingEntries,
    HostingEntry,
    read_remote,
    services,
    token_variables,
)

ENTRIES = TypeAdapter(HostingEntries)


@pytest.mark.parametrize(
    ("url", "named"),
    [
        ("https://github.com/acme/shop.git", ("github.com", "acme/shop")),
        ("https://user:secret@GitHub.com/acme/shop", ("github.com", "acme/shop")),
        ("git@github.com:acme/shop.git", ("github.com", "acme/shop")),
        ("github.com:acme/shop", ("github.com", "acme/shop")),
        ("ssh://git@git.example:2222/acme/shop/", ("git.example", "acme/shop")),
        ("https://gitlab.com/group/sub/shop.git", ("gitlab.com", "group/sub/shop")),
        ("http://127.0.0.1:3000/acme/shop", ("127.0.0.1:3000", "acme/shop")),
        ("https://git.example:99999/acme/shop", None),
        ("https://github.com/shop.git", None),
        ("https://github.com/acme/../shop", None),
        ("https://github.com/acme/shop%2fevil", None),
        ("git@github.com:/srv/shop.git", None),
        ("ext::sh -c evil", None),
        ("/srv/shop.git", None),
        ("../shop", None),
        ("file:///srv/acme/shop.git", None),
        ("", None),
    ],
)
def test_a_remotes_url_names_one_repository_or_nothing(url: str, named: tuple[str, str] | None):
    assert read_remote(url) == named


@pytest.mark.parametrize(
    ("pattern", "repository", "may"),
    [
        ("acme/shop", "acme/shop", True),
        ("acme/shop", "Acme/Shop", True),
        ("acme/*", "acme/shop", True),
        ("acme/*", "acme/team/shop", False),
        ("acme/*", "other/shop", False),
        ("acme/*", "acme-evil/shop", False),
        ("*", "any/where/at-all", True),
        ("*/shop", "acme/shop", True),
        ("acme/shop", "acme/shop-2", False),
    ],
)
def test_a_pattern_covers_repositories(pattern: str, repository: str, may: bool):
    service = HostingEntry(repositories=(pattern,)).at("github.com")
    assert service.may_push(repository) is may


@pytest.mark.parametrize(
    ("host", "said", "api", "url"),
    [
        ("github.com", {}, "github", "https://api.github.com"),
        ("gitlab.com", {}, "gitlab", "https://gitlab.com/api/v4"),
        ("codeberg.org", {}, "gitea", "https://codeberg.org/api/v1"),
        ("git.example", {"api": "github"}, "github", "https://git.example/api/v3"),
        ("git.example", {"api": "gitea"}, "gitea", "https://git.example/api/v1"),
        ("git.example", {"api": "gitlab", "url": "https://x/y/"}, "gitlab", "https://x/y"),
    ],
)
def test_an_api_is_found_where_it_usually_is(host: str, said: dict[str, str], api: str, url: str):
    entry = ENTRIES.validate_python({host: {"repositories": ["*"], **said}})[host]
    service = services({host: entry})[host]
    assert (service.api, service.url) == (api, url)
    assert service.push_url("a/b") == f"https://{host}/a/b.git"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"repositories": []}, "at least 1"),
        ({}, "repositories"),
        ({"repositories": ["*"]}, "needs `api`"),
        ({"repositories": ["*"], "api": "svn"}, "api"),
        ({"repositories": ["*"], "api": "gitea", "url": "http://git.example/api"}, "https://"),
        ({"repositories": ["*"], "api": "gitea", "git_url": "ssh://git@x/{repository}"}, "https"),
        ({"repositories": ["*"], "api": "gitea", "url": "https://me:pw@x/api"}, "no password"),
        ({"repositories": ["*"], "api": "gitea", "token": "ghp_abc-def"}, "names the environment"),
        ({"repositories": ["a b"], "api": "gitea"}, "repositories"),
    ],
)
def test_an_entry_that_would_send_a_token_astray_is_refused(said: dict[str, object], told: str):
    with pytest.raises(ValidationError, match=told) as caught:
        ENTRIES.validate_python({"git.example": said})
    assert "ghp_abc" not in "".join(each["msg"] for each in caught.value.errors())


def _two(one: dict[str, str], other: dict[str, str]) -> dict[str, object]:
    hosts = {"one.example": one, "two.example": other}
    return {name: {"repositories": ["*"], **said} for name, said in hosts.items()}


GITEA, GITLAB = {"api": "gitea"}, {"api": "gitlab"}


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (_two(GITLAB, GITLAB), "in GITLAB_TOKEN: set `token` of 'two.example'"),
        (_two(GITLAB, {**GITLAB, "token": "GITLAB_TOKEN"}), "set `token` of 'one.example'"),
        (_two({**GITEA, "token": "FORGEJO_TOKEN"}, GITEA), "in FORGEJO_TOKEN: set `token` of 'two"),
        (_two(GITEA, {**GITLAB, "token": "GITEA_TOKEN"}), "set `token` of 'one.example'"),
    ],
)
def test_hosts_that_would_get_each_others_token_are_refused(said: dict[str, object], told: str):
    with pytest.raises(ValidationError, match=told) as caught:
        ENTRIES.validate_python(said)
    assert "'one.example' and 'two.example'" in str(caught.value)


@pytest.mark.parametrize(
    "said",
    [
        _two(GITLAB, GITEA),
        _two(GITLAB, {**GITLAB, "token": "SECOND"}),
        _two({**GITLAB, "token": "BOTH"}, {**GITLAB, "token": "BOTH"}),
    ],
)
def test_hosts_with_tokens_of_their_own_or_one_that_both_name_are_accepted(
    said: dict[str, object],
):
    assert ENTRIES.validate_python(said).keys() == said.keys()


def test_the_variables_of_all_tokens_are_known():
    entries = {
        "github.com": HostingEntry(repositories=("*",)),
        "git.example": HostingEntry(repositories=("*",), api="gitea", token="MINE"),
    }
    assert token_variables(entries) == {"GH_TOKEN", "GITHUB_TOKEN", "MINE"}
