"""What each role is told: one versioned prompt file a role, the same bytes in every call."""

import functools
import importlib.resources

from workflows.domain.models import Role


@functools.cache
def system_prompt(role: Role) -> str:
    """Return a role's system prompt."""
    return importlib.resources.read_text("activities.prompts", f"{role}.md", "utf-8").strip()
