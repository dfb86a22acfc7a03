"""What the demo claims is counted in histories, not believed."""

from temporalio.api.history.v1 import HistoryEvent

from starter.demo.evidence import (
    Child,
    Span,
    child_spans,
    decision_names,
    ended_children,
    most_at_once,
)


def started(workflow: str, at: int) -> HistoryEvent:
    event = HistoryEvent()
    event.event_time.FromNanoseconds(at)
    attributes = event.child_workflow_execution_started_event_attributes
    attributes.workflow_execution.workflow_id = workflow
    return event


def ended(workflow: str, at: int, kind: str = "AgentWorkflow") -> HistoryEvent:
    event = HistoryEvent()
    event.event_time.FromNanoseconds(at)
    attributes = event.child_workflow_execution_completed_event_attributes
    attributes.workflow_execution.workflow_id = workflow
    attributes.workflow_type.name = kind
    return event


def signalled(name: str) -> HistoryEvent:
    event = HistoryEvent()
    event.workflow_execution_signaled_event_attributes.signal_name = name
    return event


def test_children_run_from_their_start_to_their_end():
    events = [started("a", 1), started("b", 2), started("c", 3), ended("b", 5), ended("a", 9)]
    assert child_spans(events) == (Span(2, 5), Span(1, 9))


def test_agents_one_after_another_are_never_at_once():
    assert most_at_once([Span(1, 5), Span(5, 9), Span(9, 12)]) == 1


def test_agents_of_different_waves_count_together():
    assert most_at_once([Span(1, 6), Span(5, 9), Span(2, 3), Span(5, 7)]) == 3


def test_nothing_ran_at_once_where_nothing_ran():
    assert most_at_once([]) == 0


def test_ended_children_keep_their_order_and_type():
    events = [started("x", 1), ended("x", 2, "MergeWave"), signalled("stop"), ended("y", 3, "Wave")]
    assert ended_children(events) == (Child("x", "MergeWave"), Child("y", "Wave"))


def updated(name: str) -> HistoryEvent:
    event = HistoryEvent()
    accepted = event.workflow_execution_update_accepted_event_attributes
    accepted.accepted_request.input.name = name
    return event


def test_decisions_are_updates_and_signals_but_not_those_of_the_ledger():
    events = [updated("approve_plan"), signalled("ledger_event"), signalled("approve_changeset")]
    assert decision_names(events) == ("approve_plan", "approve_changeset")
