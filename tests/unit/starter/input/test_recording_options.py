"""What `simulate --record` tells a person, before it serves and when all is saved."""

from activities.adapters.models.scripted.playbook import Place
from activities.adapters.models.simulator.recording.captured_answer import Captured
from activities.adapters.models.simulator.recording.recorded_playbook import Takes
from activities.ports.model_provider import ModelReply, ProviderUnavailableError
from starter.input.recording_options import begun, ended, given_addresses
from workflows.domain.agent.messages import AssistantMessage
from workflows.domain.agent.model_values import Usage

REPLY = ModelReply(
    message=AssistantMessage(text="Hi"), stop="end", usage=Usage(output_tokens=1), cost_usd=None
)
REFUSED = Captured(503, [], [], "whole")
AUTHOR = Place("developer", "dates", 1, 1)


def test_what_to_set_is_said_for_each_provider() -> None:
    addresses = {"anthropic": "https://a.example", "mine": "http://c.example/v1"}
    assert begun("new.yaml", "http://127.0.0.1:1", addresses) == [
        "RECORDING: what passes http://127.0.0.1:1 is written to new.yaml; Ctrl-C ends it",
        "  ANTHROPIC_BASE_URL=http://127.0.0.1:1       goes on to https://a.example",
        "  mine: base_url: http://127.0.0.1:1/mine/v1  goes on to http://c.example/v1",
    ]


def test_what_a_replay_will_lack_is_said_at_the_end() -> None:
    takes = Takes("new")
    takes.answered(AUTHOR._replace(turn=3), REPLY)
    takes.failed(AUTHOR._replace(turn=4), ProviderUnavailableError("busy"), REFUSED)
    head = "Note       role 'developer', task 'dates', attempt 1, turn"
    assert ended("new.yaml", takes) == [
        "new.yaml: recorded; turns 2, agents 1",
        f"{head} 4 failed each time, and fails each time in a replay",
        f"{head} 1 was not heard; a replay that comes there has no answer",
    ]


def test_addresses_are_read() -> None:
    given = ("openai=https://b.example/v1", "mine=http://c.example:1/v1")
    assert given_addresses(given) == {
        "openai": "https://b.example/v1",
        "mine": "http://c.example:1/v1",
    }
