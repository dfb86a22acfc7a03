"""The `blueflame.yaml` that `init` proposes for a repository.

Pure: findings in, a short commented text out. The text sets only what a repository may decide, so
it never conflicts with the person's own file.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from activities.projects.proposal import Proposal
from starter.configuration.file_shape import VERSION
from starter.configuration.model_routes import available_providers, default_routes
from starter.configuration.written_values import flow, gates
from workflows.domain.agent.model_values import Provider
from workflows.domain.gate import GateSpec
from workflows.domain.session.session_config import Routes

_HEAD = f"""\
# Settings of Blue Flame for this repository. All keys but `version` may be left out.
# `blueflame config check` judges this file, `blueflame config show --origin` says what a session
# gets, `blueflame config schema` lists every key.
version: {VERSION}
"""
_LONGEST = 80
_OWN = """
# Only your own configuration can show places of your machine and open hosts to set-up. If this
# repository may have them, put these lines there:"""
_SETUP = """
# Set-up: run in the sandbox, before agents and gates start.
"""
_VARIABLES = """
# What set-up fetches stays in the worktree.
"""
_GATES = """
# The checks that judge every change, as they were found here. A command is a list, or a text for
# the shell.
"""
_NO_GATES = """
# No check was found here. Name at least one: until then only reviewers judge a change.
# gates:
#   tests: {run: "make test", timeout: 10m}
"""
_MODELS = """
# Models of each role, by the keys that were set. With two providers a reviewer is of another family
# than the developer.
"""
_NO_MODELS = """
# Models are chosen by the keys in the environment; one is enough. To name them:
"""
_OWN_MODELS = """
# Models are those of each person's own file. To name them for all who work here:
"""
_TAIL = """
# What one session may spend, in USD. Your own file may say less.
# budget: {warn_usd: 2, stop_usd: 10}
"""
_EXAMPLE: tuple[Provider, ...] = ("anthropic", "openai")


class Findings(NamedTuple):
    """The findings of `init`."""

    gates: tuple[GateSpec, ...]
    proposal: Proposal
    """Toolchains and set-up that the repository's files ask for."""
    own_line: str
    """Lines for the person's own file; empty if it needs none."""
    providers: tuple[str, ...]
    """The providers with a key."""
    routes: Routes | None
    """None: the keys do not cover every role, or the person's own file names models."""
    has_own_models: bool


def find(
    proposal: Proposal,
    environment: Mapping[str, str],
    *,
    has_own_models: bool,
    own_line: str = "",
) -> Findings:
    """Combine what is known.

    Args:
        proposal: what the repository's files show.
        environment: only checked for providers' keys.
        has_own_models: the person's own file names models; a repository's would replace them.
        own_line: toolchains and hosts, as a person's own file would allow them.
    """
    providers = available_providers(environment)
    routes = None if has_own_models else default_routes(providers)
    names = tuple(sorted(providers))
    return Findings(proposal.gates, proposal, own_line, names, routes, has_own_models)


def text(findings: Findings) -> str:
    """Return the file."""
    return "".join(
        (
            _HEAD,
            *_environment(findings),
            *_gates(findings.gates, findings.proposal.notes),
            *_models(findings),
            _TAIL,
        )
    )


def _environment(findings: Findings) -> Iterator[str]:
    proposal = findings.proposal
    for need in proposal.needs:
        # On one line, whatever it holds: the rest of a multi-line comment would be configuration.
        version = " ".join(need.version.split())[:_LONGEST]
        yield f"\n# {need.evidence} asks for {need.language} {version}".rstrip()
    if findings.own_line:
        lines = "".join(f"\n#   {line}" for line in findings.own_line.splitlines())
        yield f"{_OWN}{lines}"
    if proposal.needs or findings.own_line:
        yield "\n"
    if proposal.setup:
        yield f"{_SETUP}worktree:\n  setup:\n"
        yield from (f"    - {_folded(each)}\n" for each in proposal.setup)
    if proposal.variables:
        yield f"{_VARIABLES}environment:\n  variables: {flow(dict(proposal.variables))}\n"


def _folded(command: str) -> str:
    """Return a command as YAML, one step per line; a reader joins the lines with spaces."""
    if not command.isprintable() or " && " not in command:
        return flow(command)
    return ">-\n      " + "\n      && ".join(command.split(" && "))


def _gates(found: Sequence[GateSpec], notes: Sequence[str]) -> Iterator[str]:
    if not found:
        yield _NO_GATES
        yield from (f"# {note}\n" for note in notes)
        return
    yield _GATES
    yield from (f"# {note}\n" for note in notes)
    yield "gates:\n"
    yield from (f"  {name}: {flow(entry)}\n" for name, entry in gates(found).items())


def _models(findings: Findings) -> Iterator[str]:
    routes = findings.routes
    if routes is None:
        yield _OWN_MODELS if findings.has_own_models else _NO_MODELS
    else:
        yield _MODELS
    mark = "# " if routes is None else ""
    shown = routes or default_routes(frozenset(_EXAMPLE))
    assert shown is not None, "two providers are enough"
    yield f"{mark}models:\n"
    for role, models in shown.model_dump().items():
        yield f"{mark}  {role}: {flow(list(models))}\n"
