"""An agent's question to the person who leads the project."""

from datetime import datetime
from typing import Final

from pydantic import BaseModel, Field

from workflows.domain.ids import AgentId

MOST_CHARACTERS: Final = 2_000


class Question(BaseModel, frozen=True, extra="forbid"):
    """One question, open until it is answered or its agent ends."""

    agent: AgentId
    about: str = Field(max_length=63)
    """The task's id, or `plan` for the planner; an answer names it."""
    text: str = Field(max_length=MOST_CHARACTERS)
    asked_at: datetime


class QuestionAsked(BaseModel, frozen=True, extra="forbid"):
    """`question_asked`: an agent's signal to its session."""

    agent: AgentId
    about: str = Field(max_length=63)
    text: str = Field(min_length=1, max_length=MOST_CHARACTERS)
