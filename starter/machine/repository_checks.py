"""The checks of `doctor` for one repository: the keys of its models, and its gates.

A check only inspects; no key is tried (`models test` does that) and no gate is run.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from starter.console.command_errors import CommandError
from starter.machine.hosting_check import hosting_check
from starter.machine.machine_checks import Check
from starter.views.safety_labels import NO_SANDBOX
from workflows.domain.environment import ProjectEnvironment

if TYPE_CHECKING:
    from activities.ports.endpoints import ProviderEntries
    from starter.configuration.effective_configuration import Configuration
    from starter.machine.repository_look import Repository
    from workers.settings import Settings
    from workflows.domain.gate import GateSpec
    from workflows.domain.session.session_config import SessionConfig

_ROLES: Final = ("planner", "developer", "reviewer")
_NAMED: Final = 8
_SOURCES: Final = {"gitleaks": "its releases are at https://github.com/gitleaks/gitleaks/releases"}
_SCRIPTED: Final = "none is needed: a playbook speaks"
_SERVERS: Final = "none is needed: your own servers want none"


async def repository_checks(
    repo: Path, environment: Mapping[str, str], settings: "Settings"
) -> list[Check]:
    """Check what a session on a repository needs besides the machine.

    Args:
        repo: the repository or a folder in it; anything else is only noted.
        environment: only checked for providers' keys.
        settings: those of this process.
    """
    from starter.machine import repository_look

    repository, why = None, ""
    try:
        repository = await repository_look.examine(repo.absolute(), None)  # noqa: ASYNC240 (no disk)
    except CommandError as error:
        why = str(error)
    configuration = _configuration(repository, environment, settings.providers)
    keys = _keys(configuration, environment)
    if repository is None:
        return [Check("repo", "note", f"not checked: {why}"), keys]
    looked_at = Check("repo", "well", str(repository.root))
    session = _session(repository, environment, settings)
    gates = await _gates(repository, session)
    toolchains = _toolchains(repository, session, settings)
    checks = [looked_at, keys, *toolchains, gates]
    if not isinstance(configuration, CommandError):
        hosting = await hosting_check(repository.root, configuration, environment)
        checks += [hosting] if hosting else []
    if not isinstance(configuration, CommandError) and configuration.session.sandbox == "none":
        origin = configuration.origins["sandbox"]
        said = f"Sandbox {NO_SANDBOX}, by 'sandbox: none' of {origin}"
        checks.append(Check("commands", "note", said))
    return checks


async def trial_checks(
    repo: Path, environment: Mapping[str, str], settings: "Settings"
) -> list[Check]:
    """Run set-up and gates once, if everything that they need is available; otherwise add nothing.

    Args:
        repo: the repository or a folder in it.
        environment: only checked for providers' keys.
        settings: those of this process.
    """
    from starter.machine import repository_look
    from starter.machine.gate_trials import gate_checks
    from starter.machine.own_environment.toolchain_look import toolchain_faults
    from starter.machine.own_settings import with_own_registries, with_own_toolchains

    if settings.sandbox == "none":
        return [
            Check("gates run", "note", "none was tried: without a sandbox `doctor` runs nothing")
        ]
    try:
        repository = await repository_look.examine(repo.absolute(), None)  # noqa: ASYNC240 (no disk)
    except CommandError:
        return []  # `repository_checks` says why
    session = _session(repository, environment, settings)
    if session is None or toolchain_faults(session.environment.places, settings, repository.root):
        return []
    told = with_own_registries(settings, session.environment.access)
    told = with_own_toolchains(told, session.environment.places)
    proposal = await repository_look.proposal(repository)
    return await gate_checks(str(repository.root), session, told, proposal)


def _session(
    repository: "Repository", environment: Mapping[str, str], settings: "Settings"
) -> "SessionConfig | None":
    """Return a session's configuration without models, because running gates needs no key."""
    from starter.configuration.configuration_errors import ConfigurationError
    from starter.configuration.effective_configuration import load_configuration
    from starter.configuration.layers import Sources
    from workers.own_file import user_file

    sources = Sources(
        user=user_file(), repository=repository.root, playbook=True, providers=settings.providers
    )
    try:
        return load_configuration(sources, environment).session
    except ConfigurationError:
        return None


def _configuration(
    repository: "Repository | None", environment: Mapping[str, str], providers: "ProviderEntries"
) -> "Configuration | CommandError":
    """Return a session's configuration, or why `run` would refuse."""
    from starter.configuration.configuration_errors import ConfigurationError, NoModelsError
    from starter.configuration.effective_configuration import load_configuration
    from starter.configuration.layers import Sources
    from workers.own_file import user_file

    root = None if repository is None else repository.root
    sources = Sources(user=user_file(), repository=root, providers=providers)
    try:
        return load_configuration(sources, environment)
    except NoModelsError as error:
        return error
    except ConfigurationError as error:
        return CommandError(f"the configuration is wrong: {error}")


def _keys(configuration: "Configuration | CommandError", environment: Mapping[str, str]) -> Check:
    """Judge the keys.

    | models                      | keys                       | answer  |
    |-----------------------------|----------------------------|---------|
    | the configuration is wrong  |                            | MISSING |
    | none is configured          | of no provider             | MISSING |
    | configured, or by the keys  | of each provider           | ok      |
    | configured                  | one is missing             | MISSING |
    """
    from starter.configuration.model_routes import available_providers

    if isinstance(configuration, CommandError):
        return Check("keys", "missing", str(configuration))
    routes, entries = configuration.session.routes, configuration.providers
    available = available_providers(environment, entries)
    models = [model for role in _ROLES for model in getattr(routes, role)]
    needed: dict[str, str] = {}
    for name in models:
        needed.setdefault(name.partition("/")[0], name)
    needed.pop("scripted", None)
    missing = [each for each in needed if each not in available]
    if missing:
        asked = ", and ".join(f"{_names(each, entries)} for {needed[each]}" for each in missing)
        return Check("keys", "missing", f"set {asked}")
    found = ", ".join(filter(None, (_names(each, entries) for each in needed)))
    if not found:
        return Check("keys", "well", _SERVERS if needed else _SCRIPTED)
    return Check("keys", "well", f"{found} (set; `models test` tries them)")


def _toolchains(
    repository: "Repository", session: "SessionConfig | None", settings: "Settings"
) -> list[Check]:
    """Say whether the session's toolchains can be shown."""
    from starter.machine.own_environment.toolchain_look import toolchain_faults

    named = () if session is None else session.environment.places
    if faults := toolchain_faults(named, settings, repository.root):
        return [Check("toolchains", "missing", fault) for fault in faults]
    return [Check("toolchains", "well", ", ".join(named))] if named else []


def _names(provider: str, entries: "ProviderEntries") -> str:
    from starter.configuration.model_routes import key_names

    return " or ".join(key_names(provider, entries))


async def _gates(repository: "Repository", session: "SessionConfig | None") -> Check:
    from starter.machine import repository_look

    chosen = None if session is None else session.gates
    gates = await repository_look.detected_gates(repository) if chosen is None else chosen
    names = [gate.name if chosen else repository_look.gate_line(gate) for gate in gates]
    if not names:
        return Check(
            "gates",
            "note",
            "none found, only reviewers would judge; name commands by 'gates:' in blueflame.yaml",
        )
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    how = "found" if chosen is None else "configured"
    text = f"{how}: {', '.join(names[:_NAMED])}{more}"
    absent = _absent(gates, ProjectEnvironment() if session is None else session.environment)
    return Check("gates", "note" if absent else "well", "; ".join((text, *absent)))


def absence(program: str) -> str:
    """Say that the sandbox lacks the program, and how to fix that."""
    source = f" ({_SOURCES[program]})" if program in _SOURCES else ""
    return (
        f"absent from the sandbox, where gates run; install it under /usr{source}, or name its "
        "place under 'environment.toolchains' in your own configuration"
    )


def _absent(gates: "Sequence[GateSpec]", environment: ProjectEnvironment) -> list[str]:
    """Return the programs that these gates start and the sandbox lacks."""
    from workers.local.sandbox_programs import find_in_sandbox

    programs = dict.fromkeys(gate.argv[0] for gate in gates)
    missing = [
        each for each in programs if "/" not in each and find_in_sandbox(each, environment) is None
    ]
    return [f"{each!r} is {absence(each)}" for each in missing]
