"""What a session is doing, and how its waves follow each other."""

from enum import StrEnum


class Pacing(StrEnum):
    """When dependants start: after a wave's merge, or as soon as dependencies are validated."""

    WAVE = "wave"
    FLOW = "flow"


class SessionPhase(StrEnum):
    """What the session as a whole is doing."""

    PREPARING = "preparing"
    PLANNING = "planning"
    AWAITING_PLAN = "awaiting_plan"
    RUNNING = "running"
    PAUSED = "paused"
    STOPPING = "stopping"
    ENDED = "ended"
