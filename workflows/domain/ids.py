"""Identifiers. On the wire each is a string; in the code each has its own type."""

from typing import NewType

SessionId = NewType("SessionId", str)
"""Time-sortable and unique: a lower-case ULID-like string, safe in a ref and in a workflow id."""

TaskId = NewType("TaskId", str)
"""`[a-z0-9][a-z0-9-]{0,62}`, unique in its plan, ignoring case."""

ChangesetId = NewType("ChangesetId", str)
"""The group's name; a task without a group makes a changeset with the task's own id."""

AgentId = NewType("AgentId", str)
"""Names one attempt's agent: `dev.<task>.<attempt>` for developers, `plan.<n>` for planners."""

Digest = NewType("Digest", str)
"""SHA-256 in lower-case hexadecimal, 64 characters."""

Commit = NewType("Commit", str)
"""A git commit's full object name."""

Tree = NewType("Tree", str)
"""A git tree's full object name."""
