"""Agents' questions to the person, and the command that answers.

Pure: values in, lines out. Foreign text passes `one_line`.
"""

from starter.console.terminal import one_line
from starter.sessions.shown_session import ShownSession


def lines(session: ShownSession, program: str) -> list[str]:
    """Return the open questions, each with the command that answers it."""
    found: list[str] = []
    for each in session.questions if session.live else ():
        found.append(f"  {each.agent} asks: {one_line(each.text, 500)}")
        found.append(f'  {program} answer {session.session} {each.about} "..."')
    return found
