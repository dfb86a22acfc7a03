"""What a person typed, as a goal that starts its session later, when no one watches."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from activities.ports.land.issue_port import is_web_address
from starter.input.session_request import RunOptions, hosting_of, make_request

if TYPE_CHECKING:
    from activities.ports.land.issue_port import HostedIssue
    from starter.configuration.effective_configuration import Configuration
    from workflows.domain.session.scheduled_goal import ScheduledGoal

QUEUE: str = "queue"
"""The name of goals that no schedule has put into the queue."""
_TITLE = 200


async def scheduled_goal(options: RunOptions, name: str) -> "ScheduledGoal":
    """Return a goal that waits; what would be refused when no one watches is refused now.

    Args:
        options: as typed after `run`; paths are made absolute.
        name: the schedule's, or `QUEUE`.

    Raises:
        CommandError: the goal, a file or the repository cannot be used.
        ConfigurationError: the configuration is wrong.
        HostingError: the issue cannot be read.
    """
    repository, request, _ = await make_request(options, os.environ)
    goal, issue = request.goal, options.issue or ""
    if issue:  # it is read again when its turn comes; only its first line is kept
        goal = goal.removeprefix("# ").partition("\n")[0][:_TITLE]
        issue = issue if is_web_address(issue) else _absolute(issue)
    return _waiting(options, name, goal, str(repository.root), issue)


async def labelled_goal(options: RunOptions, name: str, label: str) -> "tuple[ScheduledGoal, int]":
    """Return a goal that stands for all open issues with a label, and how many there are now.

    Raises:
        CommandError: a file or the repository cannot be used.
        HostingError: the issues cannot be read.
    """
    goal = f"the open issues with the label {label!r}"
    repository, _, configuration = await make_request(_with_goal(options, goal), os.environ)
    found = await labelled(repository.root, configuration, label)
    made = _waiting(options, name, goal, str(repository.root), "")
    return made.with_label(label), len(found)


async def labelled(
    repository: Path, configuration: "Configuration", label: str
) -> "tuple[HostedIssue, ...]":
    """Return the open issues with a label, at the remote that pull requests go to."""
    from starter.input.hosted_issue import issues_of

    remote = configuration.session.pull_request.remote
    return await issues_of(repository, remote, label, hosting_of(configuration))


def goal_of_issue(goal: "ScheduledGoal", issue: "HostedIssue") -> "ScheduledGoal":
    """Return one issue as a goal with all else as in `goal`, which stands for its label."""
    from starter.input.hosted_issue import title_of

    return goal.for_issue(issue.url, title_of(issue)[:_TITLE])


def _with_goal(options: RunOptions, goal: str) -> RunOptions:
    from dataclasses import replace

    return replace(options, goal=goal)


def _waiting(
    options: RunOptions, name: str, goal: str, repository: str, issue: str
) -> "ScheduledGoal":
    from starter.configuration.model_routes import given_keys
    from workflows.domain.session.scheduled_goal import ScheduledGoal

    return ScheduledGoal(
        name=name,
        goal=goal,
        issue=issue,
        repository=repository,
        base=options.base,
        config=_text(options.config),
        playbook=_text(options.playbook),
        pacing=options.pacing,
        budget=options.budget,
        auto_approve=options.auto_approve,
        allow_unjudged_base=options.allow_unjudged_base,
        keys=given_keys(os.environ),
    )


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path.absolute())


def _absolute(file: str) -> str:
    return str(Path(file).absolute())
