"""Notices: what a person should see, grouped so that a storm stays one line."""

from datetime import datetime
from enum import StrEnum

from pydantic import BaseModel, Field


class NoticeKind(StrEnum):
    """What a notice is about; repeated notices of a kind and subject are counted, not listed."""

    BAD_SIGNAL = "bad_signal"
    STALE_APPROVAL = "stale_approval"
    UNKNOWN_SUBJECT = "unknown_subject"
    NOT_POSSIBLE = "not_possible"
    ABSTENTION = "abstention"
    REVIEWER = "reviewer"
    CAP_WARNING = "cap_warning"
    CAP_REACHED = "cap_reached"
    BURN_RATE = "burn_rate"
    AUTO_PAUSE = "auto_pause"
    PROVIDER = "provider"
    GATE = "gate"
    REPOSITORY = "repository"
    DELIVERY = "delivery"
    QUESTION = "question"
    PLAN_EDITED = "plan_edited"
    NOTIFICATION = "notification"


class Notice(BaseModel, frozen=True, extra="forbid"):
    """One line for a person."""

    kind: NoticeKind
    subject: str
    """A task's or changeset's id, or empty for the session."""
    text: str = Field(max_length=1_000)
    first_at: datetime
    last_at: datetime
    count: int = 1
