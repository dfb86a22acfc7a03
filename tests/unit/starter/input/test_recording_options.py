"""What `simulate --record` tells a person, before it serves and when all is saved."""

from starter.input.recording_options import begun, ended, given_addresses
from workers.local.playbook_server import Recorded


def test_what_to_set_is_said_for_each_provider() -> None:
    addresses = {"anthropic": "https://a.example", "mine": "http://c.example/v1"}
    assert begun("new.yaml", "http://127.0.0.1:1", addresses) == [
        "RECORDING: what passes http://127.0.0.1:1 is written to new.yaml; Ctrl-C ends it",
        "  ANTHROPIC_BASE_URL=http://127.0.0.1:1       goes on to https://a.example",
        "  mine: base_url: http://127.0.0.1:1/mine/v1  goes on to http://c.example/v1",
    ]


def test_what_a_replay_will_lack_is_said_at_the_end() -> None:
    recorded = Recorded(turns=2, agents=1, failing=("turn 4",), missing=("turn 1",))
    assert ended("new.yaml", recorded) == [
        "new.yaml: recorded; turns 2, agents 1",
        "Note       turn 4 failed each time, and fails each time in a replay",
        "Note       turn 1 was not recorded; a replay that gets there has no answer",
    ]


def test_addresses_are_read() -> None:
    given = ("openai=https://b.example/v1", "mine=http://c.example:1/v1")
    assert given_addresses(given) == {
        "openai": "https://b.example/v1",
        "mine": "http://c.example:1/v1",
    }
