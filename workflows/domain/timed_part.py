"""What an activity spent its time on: told with its outcome, so that a trace has it."""

from datetime import timedelta
from typing import Literal

from pydantic import BaseModel, Field


class TimedPart(BaseModel, frozen=True, extra="forbid"):
    """One part of an activity's work."""

    kind: Literal["gate", "setup"]
    name: str = Field(max_length=200)
    """The gate; for set-up `commands`, or `snapshot` if none had to run."""
    after: timedelta
    """When it began, counted from the activity's start."""
    took: timedelta
    outcome: str = Field(default="", max_length=100)
    """A gate's result."""
