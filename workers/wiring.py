"""Which code each role runs: the one table from roles to workflows and activities.

A role's code is imported only when the role is asked for, so that a worker loads no SDK that its
role does not need. Adapters are made here and passed to the activity classes; nothing is decided.

    role        queue                modules
    workflows   workflows            workflows: session, the four waves, agent, ledger,
                                     notifier, report, pull requests, schedules, queue
    models      models               activities.model_calls
    host        host, host/<name>    activities: hosts, repository, worktrees, tools, gates,
                                     reviews, merging
    land        land                 activities: repository, landing, notifications, reports,
                                     pull_requests, schedules
"""

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from workers.roles import LAND_NAMES, Role
from workers.settings import Settings

if TYPE_CHECKING:
    from activities.adapters.git.user.branch_landing import GitUserRepository
    from activities.land.hosted_pulls import PullRequestActivities
    from activities.land.notifying import NotificationActivities
    from activities.repository.host_data import Host

Activity = Callable[..., Awaitable[object]]


def workflows_for(role: Role) -> list[type]:
    """Return the workflow classes that a role runs."""
    return list(_workflows()) if role is Role.WORKFLOWS else []


def activities_for(role: Role, settings: Settings) -> list[Activity]:
    """Return the activities that a role offers, with their adapters wired in."""
    builders = _BUILDERS[role]
    return [activity for build in builders for activity in build(settings)]


def _workflows() -> Sequence[type]:
    from workflows.agent import AgentWorkflow
    from workflows.delivery.pull_requests import PullRequests
    from workflows.develop_wave import DevelopWave
    from workflows.ledger import SessionLedger
    from workflows.merge_wave import MergeWave
    from workflows.notifications.notifier import SessionNotifier
    from workflows.plan_wave import PlanWave
    from workflows.schedules.goal_queue import GoalQueue
    from workflows.schedules.repository_turn import RepositoryTurn
    from workflows.schedules.scheduled_run import ScheduledRun
    from workflows.session import SessionWorkflow
    from workflows.sessions.closing_report import SessionReport
    from workflows.validate_wave import ValidateWave

    return (
        SessionWorkflow,
        PlanWave,
        DevelopWave,
        ValidateWave,
        MergeWave,
        AgentWorkflow,
        SessionLedger,
        SessionNotifier,
        SessionReport,
        PullRequests,
        ScheduledRun,
        RepositoryTurn,
        GoalQueue,
    )


def _models(settings: Settings) -> Sequence[Activity]:
    from activities.adapters.blob_store import LocalStore
    from activities.adapters.models.catalogue import Catalogue
    from activities.adapters.models.providers import ProviderRegistry
    from activities.message_chain import Conversations
    from activities.model_calls import ModelActivities
    from workers.provider_wiring import provider_settings

    given = provider_settings(settings)
    registry = ProviderRegistry(given)
    prices = given.playbook.prices if given.playbook else None
    conversations = Conversations(LocalStore(settings.store_dir))
    models = ModelActivities(conversations, registry, Catalogue(given.entries, prices).facts)
    return (models.resolve, models.call)


def _host(settings: Settings) -> Sequence[Activity]:
    from workers.hosting.host_wiring import make_host

    return host_activities(make_host(settings))


def host_activities(host: "Host") -> Sequence[Activity]:
    """Return what role `host` offers with the given adapters."""
    from activities.adapters.shell.bash_parser import parse
    from activities.base_import import ImportActivities
    from activities.gate_runs import GateActivities
    from activities.host_claims import HostActivities
    from activities.merging import MergingActivities
    from activities.reviews import ReviewActivities
    from activities.tool_batches import ToolActivities
    from activities.worktrees import WorktreeActivities

    imports, worktrees, reviews, merging = (
        ImportActivities(host),
        WorktreeActivities(host),
        ReviewActivities(host),
        MergingActivities(host),
    )
    return (
        HostActivities(host).claim,
        imports.await_base,
        imports.import_base,
        worktrees.prepare,
        worktrees.finish,
        worktrees.last,
        worktrees.turn,
        worktrees.remove,
        ToolActivities(host, parse).run,
        GateActivities(host).run,
        reviews.diff,
        reviews.evidence,
        merging.merge,
        merging.rebase,
        merging.advance,
        merging.bundle,
    )


def _land(settings: Settings) -> Sequence[Activity]:
    from activities.adapters.blob_store import LocalStore
    from activities.adapters.git.git_command import Git
    from activities.adapters.git.user.branch_landing import GitUserRepository
    from activities.base_import import ExportActivities
    from activities.land.landing import LandingActivities
    from activities.land.report_writing import ReportActivities
    from activities.land.scheduled_sessions import ScheduleActivities
    from workers.hosting.host_wiring import FailPoint, git_program, own_places, signer_of
    from workers.hosting.starter_processes import make_session, report_writer

    repository = GitUserRepository(Git(git_program()), signer_of(os.environ))
    store = LocalStore(settings.store_dir)
    fail_point = FailPoint(settings.fail_point, settings.data_dir)
    exports = ExportActivities(repository, store, own_places(settings), fail_point)
    landing = LandingActivities(repository, store, fail_point)
    messages, pulls = _notifications(fail_point), _pull_requests(settings, repository, fail_point)
    schedules = ScheduleActivities(make_session)
    reports = ReportActivities(report_writer(settings))
    landed = (exports.export, exports.send, landing.deliver, landing.forward)
    told = (messages.find, messages.send, reports.write)
    return (*landed, *told, pulls.publish, pulls.look, schedules.make)


def _notifications(fail_point: Callable[[str], None]) -> "NotificationActivities":
    from activities.adapters.notifiers.targets import targets_of
    from activities.land.notifying import NotificationActivities
    from workers.own_file import local_now, read_notifications

    return NotificationActivities(read_notifications, targets_of, local_now, fail_point)


def _pull_requests(
    settings: Settings, repository: "GitUserRepository", fail_point: Callable[[str], None]
) -> "PullRequestActivities":
    from activities.adapters.hosting.hosting_services import HostingServices
    from activities.land.hosted_pulls import PullRequestActivities

    proxies = {name: value for name, value in os.environ.items() if name.upper() in LAND_NAMES}
    hosting = HostingServices(settings.hosting, os.environ)
    return PullRequestActivities(repository, hosting, proxies, fail_point)


_BUILDERS: Final[Mapping[Role, Sequence[Callable[[Settings], Sequence[Activity]]]]] = {
    Role.WORKFLOWS: (),
    Role.MODELS: (_models,),
    Role.HOST: (_host,),
    Role.LAND: (_land,),
}
"""For each role, the function that makes its activities; it imports its modules when called."""
