"""What `scripts/foreign_clients` plays and judges, as far as it is pure; the script installs."""

import re
from subprocess import CompletedProcess
from typing import Any

import pytest

from activities.adapters.models.scripted.answer_choice import answer
from activities.adapters.models.scripted.playbook import parse_playbook
from benchmarks.foreign_clients.foreign_client_table import (
    CLIENTS,
    FINAL,
    SAID,
    Client,
    playbook,
    prompt,
)
from benchmarks.foreign_clients.foreign_conversation import faults
from workflows.domain.agent.messages import UserMessage

DONE = CompletedProcess(("client",), 0, f"{FINAL}\n", "")
LOGGED: list[dict[str, Any]] = [
    {"outcome": "structured"},
    {"outcome": "tool_calls", "turn": 1},
    {"outcome": "end", "turn": 2},
]
REFUSED = {"outcome": "invalid", "why": "unexpected role", "turn": 1}


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_each_client_has_a_fixed_version_and_a_scene(client: Client):
    assert re.fullmatch(r"\d+\.\d+\.\d+", client.version)
    played = parse_playbook(playbook(CLIENTS), "foreign-clients.yaml")
    spoken = answer(played, [UserMessage(text=prompt(client.name))])
    assert [call.name for call in spoken.calls] == [*client.call]
    assert SAID not in str(client.call), "a client could repeat it without running the command"


def test_a_completed_conversation_has_no_fault():
    assert faults(DONE, f"{SAID}\n", LOGGED) == []


@pytest.mark.parametrize(
    ("done", "made", "logged", "said"),
    [
        (DONE, SAID, [REFUSED], "request refused: unexpected role"),
        (DONE, SAID, LOGGED[:2], "the turns were"),
        (DONE, SAID, [*LOGGED, LOGGED[-1]], "the turns were"),
        (DONE, "", LOGGED, "did not run"),
        (CompletedProcess((), 1, FINAL, "boom"), SAID, LOGGED, "code 1 and the output:.*boom"),
        (CompletedProcess((), 0, "", ""), SAID, LOGGED, "ended with code 0"),
    ],
)
def test_what_is_missing_is_said(done: Any, made: str, logged: Any, said: str):
    (fault,) = faults(done, made, logged)
    assert re.search(said, fault, re.DOTALL)
