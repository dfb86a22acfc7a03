"""Labels that no view of a session may omit: a scripted model, no sandbox.

Pure: values in, lines out.
"""

from typing import TYPE_CHECKING, Final

from starter.sessions.shown_session import ShownSession

if TYPE_CHECKING:
    from workflows.domain.session.session_config import SessionConfig

SCRIPTED: Final = "SCRIPTED: a playbook speaks, no real model"
NO_SANDBOX: Final = "NONE: commands of agents run unconfined on this machine"


def of(session: ShownSession) -> list[str]:
    """Return a session's labels as lines; empty if it has none."""
    return _lines(scripted=session.scripted, sandbox=session.sandbox)


def planned(config: "SessionConfig") -> list[str]:
    """Return the labels of a session that has no view yet, from its configuration."""
    return _lines(scripted=is_scripted(config), sandbox=config.sandbox)


def document(session: ShownSession) -> dict[str, object]:
    """Return the keys with which each JSON document about a part of a session begins."""
    return {"session": session.session, "scripted": session.scripted, "sandbox": session.sandbox}


def is_scripted(config: "SessionConfig") -> bool:
    """Tell whether a playbook may answer for a role."""
    routes = config.routes
    models = (*routes.planner, *routes.developer, *routes.reviewer)
    return any(model.startswith("scripted/") for model in models)


def _lines(*, scripted: bool, sandbox: str) -> list[str]:
    models = [f"Models     {SCRIPTED}"] if scripted else []
    return [*models, f"Sandbox    {NO_SANDBOX}"] if sandbox == "none" else models
