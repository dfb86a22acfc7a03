"""A base's history on its way to the host: what the host has, what is sent, where it ends.

A history *ends* with a commit whose parents are left out, as git's `shallow` file says it.
"""

from dataclasses import dataclass

from workflows.domain.ids import Commit, SessionId
from workflows.domain.session.session_config import HistoryDepth


@dataclass(frozen=True)
class Waiting:
    """How a host waits for a base."""

    is_there: bool
    """Its history is complete here, as far as `ends`."""
    known: tuple[Commit, ...] = ()
    """Commits whose history is complete here, as far as `ends`."""
    place: str | None = None
    """What names the repository on its machine; None: nothing does."""
    ends: tuple[Commit, ...] = ()
    """Where histories end here; empty: nowhere."""


@dataclass(frozen=True)
class HistoryWish:
    """How much of a base's history a session wants, and what its host has."""

    commit: Commit
    depth: HistoryDepth = "full"
    known: tuple[Commit, ...] = ()
    """Commits that the host has, with their history as far as `ends`."""
    ends: tuple[Commit, ...] = ()
    """Where histories on the host end."""


@dataclass(frozen=True)
class HistoryPart:
    """The part of a base's history that is sent."""

    commit: Commit
    known: tuple[Commit, ...] = ()
    """Commits that the host has; those that the sender lacks are left out of account."""
    more: tuple[Commit, ...] = ()
    """Commits that are sent with their history too: the host's history ended just above them."""
    cuts: tuple[Commit, ...] | None = None
    """The commits whose parents are not sent; None: as in the person's repository."""
    ends: tuple[Commit, ...] | None = None
    """Where the base's history may end on the host; None: as in the person's repository."""
    is_empty: bool = False
    """Nothing has to be sent."""


@dataclass(frozen=True)
class HistoryImport:
    """A base to take in."""

    commit: Commit
    session: SessionId
    ends: tuple[Commit, ...] = ()
    """Where its history may end; elsewhere it has to be complete."""
    bundle: int | None = None
    """The descriptor of its bundle; None if its objects are there already."""
