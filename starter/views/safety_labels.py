"""What no view of a session may leave out: that a playbook speaks, that nothing confines commands.

Pure: values in, lines out.
"""

from typing import Final

from starter.sessions.shown_session import ShownSession
from workflows.domain.session.session_config import SessionConfig

SCRIPTED: Final = "SCRIPTED: a playbook speaks, no real model"
NO_SANDBOX: Final = "NONE: commands of agents run unconfined on this machine"


def of(session: ShownSession) -> list[str]:
    """Return a session's marks as lines; none where there is nothing to say."""
    return _lines(scripted=session.scripted, sandbox=session.sandbox)


def planned(config: SessionConfig) -> list[str]:
    """Return the marks of a session that no one has seen yet, by what it is started with."""
    return _lines(scripted=is_scripted(config), sandbox=config.sandbox)


def document(session: ShownSession) -> dict[str, object]:
    """Return the keys that each JSON document about a part of a session begins with."""
    return {"session": session.session, "scripted": session.scripted, "sandbox": session.sandbox}


def is_scripted(config: SessionConfig) -> bool:
    """Tell whether a playbook may speak for a role."""
    routes = config.routes
    models = (*routes.planner, *routes.developer, *routes.reviewer)
    return any(model.startswith("scripted/") for model in models)


def _lines(*, scripted: bool, sandbox: str) -> list[str]:
    models = [f"Models     {SCRIPTED}"] if scripted else []
    return [*models, f"Sandbox    {NO_SANDBOX}"] if sandbox == "none" else models
