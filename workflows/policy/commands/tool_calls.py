"""Whether a tool call may run: the one place that a tool asks before it acts.

Guidance and early refusal, so that an honest agent learns at once what will not be taken from it.
What a call can reach is bounded by the sandbox, and what it changed is checked again in the end.
"""

from workflows.domain.agent.shell_tree import Parse
from workflows.domain.agent.tool_policy import Denied, Standing
from workflows.policy.commands.judgement import command_denial
from workflows.policy.commands.protection import read_denial, write_denial


def tool_denial(tool: str, standing: Standing) -> Denied | None:
    """Deny a tool that the role was not given."""
    allowed = standing.rules.tools_of(standing.role)
    if tool in allowed:
        return None
    about = f"a {standing.role} has no tool {tool!r}"
    return Denied(rule="tools", about=about, instead=", ".join(allowed) or "handing in")


def bash_denial(command: str, standing: Standing, parse: Parse) -> Denied | None:
    """Deny a command. See `policy.commands`."""
    return command_denial(command, standing, parse)


def writing_denial(path: str, standing: Standing) -> Denied | None:
    """Deny a write to a path relative to the worktree, links resolved."""
    return write_denial(path, standing.claims, standing.rules, standing.gate_files)


def reading_denial(path: str, standing: Standing) -> Denied | None:
    """Deny a read of a path relative to the worktree."""
    return read_denial(path, standing.rules)
