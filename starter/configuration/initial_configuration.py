"""The `blueflame.yaml` that `init` proposes for a repository.

Pure: what was found goes in, a short commented text comes out. It says only what a repository may
decide, so that it never stands against the person's own file.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from starter.configuration.default_routes import available_providers, default_routes
from starter.configuration.file_shape import VERSION
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
# Models of each role, by the keys that were set. A reviewer is of another family than the
# developer.
"""
_NO_MODELS = """
# Models are chosen by the keys in the environment; it takes those of two providers. To name them:
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
    """What `init` found."""

    gates: tuple[GateSpec, ...]
    providers: tuple[str, ...]
    """Those with a key."""
    routes: Routes | None
    """None: the keys are not enough for every role, or the person's own file names models."""
    has_own_models: bool


def find(
    found: Sequence[GateSpec], environment: Mapping[str, str], *, has_own_models: bool
) -> Findings:
    """Put together what is known.

    Args:
        found: the repository's gates.
        environment: only asked for the presence of providers' keys.
        has_own_models: the person's own file names models; a repository's would replace them.
    """
    providers = available_providers(environment)
    routes = None if has_own_models else default_routes(providers)
    return Findings(tuple(found), tuple(sorted(providers)), routes, has_own_models)


def text(findings: Findings) -> str:
    """Return the file."""
    return "".join((_HEAD, *_gates(findings.gates), *_models(findings), _TAIL))


def _gates(found: Sequence[GateSpec]) -> Iterator[str]:
    if not found:
        yield _NO_GATES
        return
    yield f"{_GATES}gates:\n"
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
