"""What a session needs a person for, derived from its state, each with the command that answers it.

Because needs follow from the state, a need that was met before it could be told is never told.
"""

from collections.abc import Callable, Iterator

from workflows.domain.changeset import Changeset, ChangesetState
from workflows.domain.ids import SessionId
from workflows.domain.session.notification import Need, NotificationKind
from workflows.domain.session.query_answers import SessionOutcome
from workflows.domain.session.question import Question
from workflows.domain.session.session_config import SessionConfig
from workflows.domain.session.session_modes import SessionPhase
from workflows.domain.session.session_state import SessionState
from workflows.domain.task import TaskRecord, TaskState
from workflows.policy.agent.questions import open_questions
from workflows.policy.notifications.harmless_text import harmless
from workflows.policy.session.phase_changes import PAUSED_BY_A_PERSON, phase_beneath

_GAVE_UP = frozenset({TaskState.FAILED, TaskState.TIMED_OUT})
_DIGEST = 12
_TEXT = 300
_KEY = 200


def session_needs(
    session: SessionId, config: SessionConfig, state: SessionState
) -> tuple[Need, ...]:
    """Return what a person should be told, by this table; only kinds of `config.notify`.

    | state                                    | kind     | command                         |
    |------------------------------------------|----------|---------------------------------|
    | a plan waits for approval                | approval | `approve plan`                  |
    | the planner made no plan                 | paused   | `reject plan`: plan again       |
    | a changeset waits for a person           | approval | `approve ID --digest …`         |
    | a question is open                       | question | `answer TASK TEXT`              |
    | paused at the cap                        | paused   | `budget USD`                    |
    | paused for another reason                | paused   | `resume`                        |
    | paused by a person, being stopped, ended |          |                                 |
    | a task ran out of attempts, a person     | failed   | `retry TASK`                    |
    | may retry it                             |          |                                 |

    Args:
        session: the session's id, for commands.
        config: the session's.
        state: at this moment.
    """
    if state.phase in {SessionPhase.STOPPING, SessionPhase.ENDED}:
        return ()
    found = (*_plan(state), *_changesets(config, state), *_questions(state))
    found += (*_pause(state), *_failed(config, state))
    needs = (make(session) for make in found)
    return tuple(need for need in needs if need.kind in config.notify)


def end_need(session: SessionId, outcome: SessionOutcome, reason: str) -> Need:
    """Return what is told of a session's end.

    | outcome               | kind   |
    |-----------------------|--------|
    | complete, stopped     | done   |
    | incomplete, failed    | failed |
    """
    is_done = outcome in {"complete", "stopped"}
    kind = NotificationKind.DONE if is_done else NotificationKind.FAILED
    text = f"the session ended as {outcome}{f': {reason}' if reason else ''}"
    said = harmless(text)[:_TEXT]
    return Need(kind=kind, key="end", text=said, command=f"blueflame report {session}")


_Made = Callable[[SessionId], Need]


def _made(kind: NotificationKind, key: str, text: str, command: str) -> _Made:
    """Return a need whose command lacks the session's id, written `{}`."""

    def make(session: SessionId) -> Need:
        whole = f"blueflame {command.replace('{}', session)}"
        return Need(kind=kind, key=key[:_KEY], text=harmless(text)[:_TEXT], command=whole)

    return make


def _plan(state: SessionState) -> Iterator[_Made]:
    if phase_beneath(state) is not SessionPhase.AWAITING_PLAN or state.is_plan_approved:
        return
    key = f"plan/{state.plans_made}"
    if state.plan is None:
        text = f"the planner made no plan: {state.plan_fault}"
        yield _made(NotificationKind.PAUSED, key, text, "reject plan --session {}")
        return
    count = len(state.plan.tasks)
    text = f"the plan waits for approval: {count} {'task' if count == 1 else 'tasks'}"
    yield _made(NotificationKind.APPROVAL, key, text, "approve plan --session {}")


def _changesets(config: SessionConfig, state: SessionState) -> Iterator[_Made]:
    if config.approvals.changeset != "ask":
        return
    for each in state.changesets:
        if each.state is ChangesetState.AWAITING_APPROVAL and each.digest is not None:
            yield _changeset(each, each.digest)


def _changeset(changeset: Changeset, digest: str) -> _Made:
    named = ", ".join(changeset.tasks)
    text = f"changeset {changeset.id!r} waits for approval (tasks: {named})"
    command = f"approve {changeset.id} --digest {digest[:_DIGEST]} --session {{}}"
    return _made(NotificationKind.APPROVAL, f"changeset/{changeset.id}/{digest}", text, command)


def _questions(state: SessionState) -> Iterator[_Made]:
    for each in open_questions(state):
        yield _question(each)


def _question(question: Question) -> _Made:
    of = "the planner" if question.about == "plan" else f"task {question.about!r}"
    command = f'answer {{}} {question.about} "TEXT"'
    text = f"{of} asks: {question.text}"
    key = f"question/{question.agent}/{question.asked_at.isoformat()}"
    return _made(NotificationKind.QUESTION, key, text, command)


def _pause(state: SessionState) -> Iterator[_Made]:
    if state.phase is not SessionPhase.PAUSED or state.reason == PAUSED_BY_A_PERSON:
        return
    command = "budget USD --session {}" if state.is_cap_reached else "resume {}"
    text = f"the session paused: {state.reason}"
    yield _made(NotificationKind.PAUSED, f"paused/{state.reason}", text, command)


def _failed(config: SessionConfig, state: SessionState) -> Iterator[_Made]:
    """Without a person, failed tasks end the session, and its end is told."""
    if config.approvals.changeset == "ask":
        for each in state.records.values():
            if each.state in _GAVE_UP:
                yield _failed_task(each)


def _failed_task(record: TaskRecord) -> _Made:
    task = record.task.id
    text = f"task {task!r} failed: {record.reason}"
    key = f"task/{task}/{record.attempt}"
    return _made(NotificationKind.FAILED, key, text, f"retry {task} --session {{}}")
