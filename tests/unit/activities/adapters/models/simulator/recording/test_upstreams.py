"""Where a request goes, by its path and by its headers, and in whose form it is written."""

import pytest

from activities.adapters.models.simulator.recording.upstreams import Destination, Upstreams

A, B, L = "https://a.example", "https://o.example/v1", "http://l.example/api"
UPSTREAMS = Upstreams({"anthropic": A, "openai": B, "google": "https://g.example/", "local": L})
GENERATE = "/models/gemini-2.5-pro:generateContent"
STREAM = "/models/tuned/x:streamGenerateContent"

PLACES = {
    "/v1/messages": Destination(f"{A}/v1/messages", "anthropic"),
    "/v1/messages/count_tokens": Destination(f"{A}/v1/messages/count_tokens", None),
    "/v1/responses": Destination(f"{B}/responses", "openai"),
    "/v1/responses/r1/cancel": Destination(f"{B}/responses/r1/cancel", None),
    "/v1/chat/completions": Destination(f"{B}/chat/completions", "chat"),
    "/v1beta" + GENERATE: Destination(
        f"https://g.example/v1beta{GENERATE}", "gemini", "gemini-2.5-pro"
    ),
    "/v1" + STREAM: Destination(f"https://g.example/v1{STREAM}", "gemini", "tuned/x"),
    "/v1beta/models/m:countTokens": Destination(
        "https://g.example/v1beta/models/m:countTokens", None
    ),
    "/local/v1/chat/completions": Destination(f"{L}/chat/completions", "chat"),
    "/local/v1/responses": Destination(f"{L}/responses", "openai"),
    "/anthropic/v1/messages": Destination(f"{A}/v1/messages", "anthropic"),
    "/openai/v1/files%2Fx": Destination(f"{B}/files%2Fx", None),
}


@pytest.mark.parametrize("path", PLACES)
def test_a_request_goes_to_its_provider(path: str) -> None:
    assert UPSTREAMS.destination("POST", path, {}) == PLACES[path]


@pytest.mark.parametrize(
    ("header", "base"),
    [("anthropic-version", f"{A}/v1"), ("x-goog-api-key", "https://g.example/v1"), ("x", B)],
)
def test_a_path_of_several_is_told_by_its_headers(header: str, base: str) -> None:
    assert UPSTREAMS.destination("GET", "/v1/models", {header: "1"}) == Destination(
        f"{base}/models", None
    )


def test_what_is_not_posted_asks_no_model() -> None:
    asked = UPSTREAMS.destination("GET", "/v1/messages", {})
    assert asked is not None
    assert asked.dialect is None


@pytest.mark.parametrize("path", ["*", "@evil.example/v1/messages", "http://evil.example/v1"])
def test_what_is_no_path_goes_nowhere(path: str) -> None:
    assert UPSTREAMS.destination("POST", path, {"anthropic-version": "1"}) is None


def test_an_unknown_path_has_no_destination() -> None:
    assert Upstreams({"local": L}).destination("POST", "/v1/messages", {}) is None


@pytest.mark.parametrize(
    ("url", "is_own"),
    [
        ("http://127.0.0.1:8765", True),
        ("http://localhost:8765/v1", True),
        ("http://[::1]:8765", True),
        ("http://127.0.0.1:8766", False),
        ("https://a.example:8765", False),
        ("https://a.example", False),
        ("http://127.0.0.1:99999", False),
    ],
)
def test_an_address_of_its_own_is_known(url: str, *, is_own: bool) -> None:
    assert Upstreams({"openai": url}).own(8765) == (["openai"] if is_own else [])
