"""A refusal is told with its category and its words, as far as the provider gives them."""

from typing import Any

import httpx2
import pytest

from tests.unit.activities.adapters.models.wire import Handmade, streamed
from workflows.domain.agent.model_values import Provider

ANTHROPIC = {
    "content": [{"type": "text", "text": "I stop here."}],
    "stop_reason": "refusal",
    "stop_details": {"type": "refusal", "category": "cyber", "explanation": "Not allowed."},
}
OPENAI = {
    "status": "completed",
    "output": [{"type": "message", "content": [{"type": "refusal", "refusal": "I cannot."}]}],
}
FILTERED = {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}
BLOCKED = {"promptFeedback": {"blockReason": "SAFETY", "blockReasonMessage": "It is unsafe."}}
STOPPED = {"candidates": [{"finishReason": "RECITATION", "finishMessage": "It is a copy."}]}
SERVER = {"choices": [{"message": {"refusal": "No."}, "finish_reason": "content_filter"}]}


@pytest.mark.parametrize(
    ("provider", "body", "words"),
    [
        ("anthropic", ANTHROPIC, "cyber: Not allowed.: I stop here."),
        ("anthropic", {"content": [], "stop_reason": "refusal"}, ""),
        ("openai", OPENAI, "I cannot."),
        ("openai", FILTERED, "content_filter"),
        ("google", BLOCKED, "SAFETY: It is unsafe."),
        ("google", STOPPED, "RECITATION: It is a copy."),
        ("local", SERVER, "content_filter; No."),
    ],
)
async def test_category_and_words_of_a_refusal(provider: Provider, body: Any, words: str) -> None:
    """Field report G15."""
    sent = streamed(provider, body)

    def respond(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, text=sent)

    reply = await Handmade().call(provider, respond)
    assert (reply.stop, reply.refusal) == ("refusal", words)
