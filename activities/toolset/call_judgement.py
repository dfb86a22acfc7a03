"""Asks the policy about a tool call: what its arguments mean for the rules.

This gives guidance and refuses early. The sandbox bounds what a call can reach.
"""

import posixpath

from activities.ports.sandbox_port import WORKSPACE
from activities.toolset.stored_outputs import digest_in
from activities.toolset.tool_schemas import (
    ApplyPatch,
    Bash,
    Edit,
    Read,
    SandboxCall,
    Write,
    name_of,
)
from workflows.domain.agent.shell_tree import Parse
from workflows.domain.agent.tool_policy import Denied, Standing
from workflows.policy.commands.judgement import command_denial, tool_denial
from workflows.policy.commands.program_options import plain_path
from workflows.policy.commands.protection import read_denial, write_denial


def judge_call(call: SandboxCall, standing: Standing, parse: Parse, folder: str = "") -> str | None:
    """Return for the agent why its call is denied; None if it may run.

    Whether a path may be written is checked once links are followed; see `judge_write`.

    Args:
        call: the call, with its parsed arguments.
        standing: whose call it is.
        parse: parses a command as bash would.
        folder: where a command starts, relative to the workspace; empty for its root.
    """
    denied = tool_denial(name_of(call), standing) or _denial(call, standing, parse, folder)
    return denied.text if denied else None


def judge_write(path: str, standing: Standing) -> str | None:
    """Return for the agent why a path may not be written; None if it may.

    Args:
        path: relative to the worktree, links followed.
        standing: whose call it is.
    """
    denied = write_denial(path, standing.claims, standing.rules, standing.gate_files)
    return denied.text if denied else None


def _denial(call: SandboxCall, standing: Standing, parse: Parse, folder: str) -> Denied | None:
    match call:
        case Bash():
            return command_denial(call.command, standing, parse, folder)
        case Read():
            return None if digest_in(call.path) else _reading(call.path, standing)
        case Edit() | Write() | ApplyPatch():
            return None


def _reading(path: str, standing: Standing) -> Denied | None:
    """The sandbox guards what lies outside the worktree."""
    inside = plain_path(posixpath.join(WORKSPACE, path))
    if not inside.startswith(f"{WORKSPACE}/"):
        return None
    return read_denial(inside.removeprefix(f"{WORKSPACE}/"), standing.rules)
