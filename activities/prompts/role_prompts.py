"""What each role is told: one versioned prompt file a role, the same bytes in every call."""

import functools
import importlib.resources

from workflows.domain.agent.model_values import Role


@functools.cache
def system_prompt(role: Role) -> str:
    """Return a role's system prompt."""
    prompts = importlib.resources.files("activities.prompts")
    return prompts.joinpath(f"{role}.md").read_text("utf-8").strip()
