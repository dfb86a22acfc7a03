"""What a person allows agents to call, read and write, and the text of a denial."""

from typing import Annotated, Literal, get_args

from pydantic import BaseModel, Field, StringConstraints

from workflows.domain.agent.model_values import Role

ToolName = Literal["bash", "read", "edit", "write", "apply_patch"]
RuleName = Literal[
    "environment",
    "git-config",
    "git-history",
    "git-remote",
    "network",
    "publish",
    "recursion",
    "rights",
    "system-packages",
]
"""The built-in rules about commands that a person may lift."""
RULE_NAMES: tuple[RuleName, ...] = get_args(RuleName)

PathPattern = Annotated[str, StringConstraints(min_length=1, max_length=200)]
"""A glob as in a claim: whole paths from the repository's root, `**` across folders."""
CommandPattern = Annotated[str, StringConstraints(min_length=1, max_length=200)]
"""`git log *`: a program and its words, each of which may hold `*` and `?`. A final word `*` stands
for any further words; the pattern `*` alone stands for every command."""
_Tools = Annotated[tuple[ToolName, ...], Field(max_length=5)]
_Paths = Annotated[tuple[PathPattern, ...], Field(max_length=100)]
_Commands = Annotated[tuple[CommandPattern, ...], Field(max_length=100)]


class ToolPolicy(BaseModel, frozen=True, extra="forbid"):
    """Rules for tool calls; they narrow what the sandbox and the claims leave open."""

    planner_tools: _Tools = ("bash", "read")
    developer_tools: _Tools = ("bash", "read", "edit", "write", "apply_patch")
    reviewer_tools: _Tools = ("bash", "read")
    allow_commands: _Commands = ("*",)
    """`*`: every program that no rule denies."""
    deny_commands: _Commands = ()
    """Takes precedence over every rule that allows."""
    lift: Annotated[tuple[RuleName, ...], Field(max_length=len(RULE_NAMES))] = ()
    """Built-in rules that are switched off."""
    read_paths: _Paths = ("**",)
    write_paths: _Paths = ("**",)
    """Limits what the task's claims allow."""
    blocked_paths: _Paths = ()
    """Neither read nor written."""
    protected_paths: _Paths = ()
    """Never written, whatever the claims; added to the built-in set."""

    def tools_of(self, role: Role) -> tuple[ToolName, ...]:
        """Return the tools that a role may call, without those that submit its work."""
        return {
            Role.PLANNER: self.planner_tools,
            Role.DEVELOPER: self.developer_tools,
            Role.REVIEWER: self.reviewer_tools,
        }[role]


class Standing(BaseModel, frozen=True, extra="forbid"):
    """Whose call is judged, and by which rules."""

    role: Role
    claims: tuple[str, ...]
    gate_files: tuple[str, ...] = ()
    """Files of the repository that a gate starts: written only if a claim names them."""
    rules: ToolPolicy = ToolPolicy()


class Denied(BaseModel, frozen=True, extra="forbid"):
    """Why a call is denied."""

    rule: str
    """The rule's name, as in the documentation."""
    about: str
    """What the denial is about, in words."""
    instead: str
    """What would be allowed."""

    @property
    def text(self) -> str:
        """One line for the agent."""
        return f"Denied by rule {self.rule!r}: {self.about}. Allowed: {self.instead}."
