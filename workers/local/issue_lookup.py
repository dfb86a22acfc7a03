"""Issues on hosting services, read with the person's own token where there is one."""

import os
from collections.abc import Mapping
from pathlib import Path

from activities.adapters.git.git_command import Git
from activities.adapters.git.user.branch_landing import GitUserRepository
from activities.adapters.hosting.hosted_issues import IssueServices
from activities.ports.land.hosting_entries import HostingEntry, read_remote
from activities.ports.land.hosting_port import HostingRefusedError
from activities.ports.land.issue_port import HostedIssue, read_issue_address
from workers.hosting.host_wiring import git_program, person_of


async def read_issue(url: str, entries: Mapping[str, HostingEntry]) -> HostedIssue:
    """Return an issue by its web address.

    Args:
        url: as copied from a browser.
        entries: the hosting services that the person configured.

    Raises:
        HostingError: the address names no issue, or the service does not show it.
    """
    address = read_issue_address(url)
    if address is None:
        raise HostingRefusedError(
            f"{url!r} is not the address of an issue, such as "
            "https://github.com/OWNER/NAME/issues/12"
        )
    if not address.is_issue:
        text = f"{url!r} names a pull request, not an issue; give the address of an issue"
        raise HostingRefusedError(text)
    issues = await IssueServices(entries, os.environ).of(address.at)
    return await issues.issue(address.number)


async def labelled_issues(
    repository: Path, remote: str, label: str, entries: Mapping[str, HostingEntry]
) -> tuple[HostedIssue, ...]:
    """Return the open issues with a label of the service that a repository's remote is on.

    Args:
        repository: the root of the person's repository.
        remote: such as `origin`.
        label: compared without regard to case.
        entries: the hosting services that the person configured.

    Raises:
        HostingError: the remote is on no such service, or the service does not show them.
        GitError: git failed.
    """
    reader = GitUserRepository(Git(git_program()), person_of(os.environ))
    url = await reader.remote_url(repository, remote)
    address = None if url is None else read_remote(url)
    if address is None:
        named = "there is no such remote" if url is None else "it is on no hosting service"
        raise HostingRefusedError(
            f"the issues of {str(repository)!r} are looked for at its remote {remote!r}: {named}; "
            "`git remote add` adds one"
        )
    issues = await IssueServices(entries, os.environ).of(address)
    return await issues.labelled(label)
