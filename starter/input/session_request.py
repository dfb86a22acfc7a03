"""What a person asks of a new session, and the request that follows from it.

`run` and schedules make their sessions here, so that both start the same session. It starts
nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from starter.console.command_errors import CommandError

if TYPE_CHECKING:
    from activities.ports.land.hosting_entries import HostingEntry
    from starter.configuration.effective_configuration import Configuration
    from starter.configuration.layers import Sources
    from starter.machine.repository_look import Repository
    from workers.settings import Settings
    from workflows.domain.plan import Plan
    from workflows.domain.session.session_start import SessionRequest


@dataclass(frozen=True)
class RunOptions:
    """What a person typed after `run`."""

    goal: str | None = None
    repo: Path = Path()
    config: Path | None = None
    base: str | None = None
    pacing: str | None = None
    auto_approve: bool = False
    playbook: Path | None = None
    file: Path | None = None
    plan: Path | None = None
    budget: str | None = None
    decisions: Path | None = None
    json: bool = False
    allow_unjudged_base: bool = False
    issue: str | None = None
    """A file, or a web address."""
    label: str = ""
    """That an issue at a web address must still have; empty: any."""


async def make_request(
    options: RunOptions, environment: Mapping[str, str]
) -> "tuple[Repository, SessionRequest, Configuration]":
    """Return the request that starts a session, from what applies now.

    Args:
        options: what was typed.
        environment: only checked for providers' keys, and for variables that the files name.

    Raises:
        CommandError: the goal, a file or the repository cannot be used.
        ConfigurationError: the configuration is wrong.
    """
    from starter.configuration.effective_configuration import load_configuration
    from starter.input.yaml_files import check_playbook
    from starter.machine import repository_look
    from starter.machine.own_settings import read_settings
    from starter.sessions.sent_decisions import decider
    from starter.sessions.short_ids import make_id
    from workflows.domain.session.session_start import SessionRequest

    read = await _read_goal_and_plan(options)
    if options.playbook is not None:
        check_playbook(options.playbook)
    repository = await repository_look.examine(options.repo.absolute(), options.base)
    found = sources(options, repository.root, read_settings())
    configuration = load_configuration(found, environment)
    await repository_look.check_copies(repository.root, configuration.session.worktree)
    goal, plan = read if read is not None else await _read_hosted(options, configuration)
    request = SessionRequest(
        session=make_id(),
        goal=goal,
        issue=(options.issue or "")[:500],
        repository=str(repository.root),
        base=options.base,
        config=configuration.session,
        plan=plan,
        plan_by=decider() if plan else "",
    )
    return repository, request, configuration


async def _read_goal_and_plan(options: RunOptions) -> "tuple[str, Plan | None] | None":
    """Return what this machine holds of a goal; None: it is an issue on a hosting service."""
    from activities.ports.land.issue_port import is_web_address
    from starter.input.issue_file import read_issue
    from starter.input.plan_files import read_goal_and_plan, read_plan_file

    goal, file = options.goal, options.file
    if options.issue is None:
        return await read_goal_and_plan(goal, file, options.plan)
    if goal is not None or file is not None:
        raise CommandError("say the goal once: --issue is read as the goal")
    if is_web_address(options.issue):
        return None
    plan = None if options.plan is None else read_plan_file(options.plan)
    return read_issue(Path(options.issue)), plan


async def _read_hosted(
    options: RunOptions, configuration: "Configuration"
) -> "tuple[str, Plan | None]":
    from starter.input.hosted_issue import read_issue_at
    from starter.input.plan_files import read_plan_file

    goal = await read_issue_at(options.issue or "", hosting_of(configuration), options.label)
    return goal, None if options.plan is None else read_plan_file(options.plan)


def hosting_of(configuration: "Configuration") -> "Mapping[str, HostingEntry]":
    """Return the hosting services that the person configured, in their file or a variable."""
    from starter.machine.own_settings import read_settings, with_hosting

    return with_hosting(read_settings(), configuration.hosting).hosting


def sources(options: RunOptions, root: Path | None, settings: "Settings") -> "Sources":
    """Return where the settings of a session are looked for.

    Args:
        options: what was typed.
        root: the repository's; None where there is none.
        settings: of this process; they may describe providers.
    """
    from starter.configuration.layers import Sources
    from workers.own_file import user_file

    by = {"pacing": "--pacing", "budget.stop_usd": "--budget"}
    if options.auto_approve:
        decided = ("approvals.plan", "approvals.changeset", "approvals.questions", "on_cap")
        by |= dict.fromkeys(decided, "--auto-approve")
    if options.allow_unjudged_base:
        by["approvals.unjudged_base"] = "--allow-unjudged-base"
    if options.decisions is not None:
        by["on_cap"] = "--decisions"
    return Sources(
        user=user_file(),
        repository=root,
        config=options.config,
        flags=_flags(options),
        options=by,
        playbook=options.playbook is not None,
        providers=settings.providers,
    )


def _flags(options: RunOptions) -> dict[str, object]:
    flags: dict[str, object] = {}
    if options.pacing is not None:
        flags["pacing"] = options.pacing
    if options.auto_approve:
        flags |= {
            "approvals.plan": "auto",
            "approvals.changeset": "auto_if_green",
            "approvals.questions": "auto",
            # No one watches: a pause at the cap would wait for ever.
            "on_cap": "stop",
        }
    if options.allow_unjudged_base:
        flags["approvals.unjudged_base"] = "allow"
    if options.budget is not None:
        from starter.input.typed_amounts import read_amount

        flags["budget.stop_usd"] = read_amount(options.budget)
    if options.decisions is not None:
        from starter.input.yaml_files import read_decisions

        decided = read_decisions(options.decisions)
        is_plain = decided.cap == "stop" and decided.raise_cap_to_usd is None
        # What is to be raised has to pause first; the file's own word comes after that.
        flags["on_cap"] = "stop" if is_plain else "pause"
    return flags


def settings_for(options: RunOptions, configuration: "Configuration", root: Path) -> "Settings":
    """Return the settings of workers that can serve a session.

    Args:
        options: what was typed.
        configuration: the session's.
        root: the repository's.

    Raises:
        CommandError: something that the configuration names is not on this machine.
    """
    from starter.machine.own_environment.toolchain_look import check_toolchains
    from starter.machine.own_settings import (
        read_settings,
        with_hosting,
        with_own_registries,
        with_own_toolchains,
    )

    settings = read_settings().evolve(providers=configuration.providers)
    settings = with_hosting(settings, configuration.hosting)
    if options.playbook is not None:
        # Two ways to write one path are one playbook.
        settings = settings.evolve(playbook=options.playbook.resolve())
    if configuration.session.sandbox == "none":
        settings = settings.evolve(sandbox="none")
    wanted = configuration.session.environment.places
    if not settings.has_external_server:  # else its workers may be on another machine
        check_toolchains(wanted, settings, root)
    told = with_own_registries(settings, configuration.session.environment.access)
    return with_own_toolchains(told, wanted)
