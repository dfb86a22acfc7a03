"""`workers.provider_wiring`: where providers are, and which keys the environment holds."""

from pydantic import SecretStr

from workers.provider_wiring import addresses, known_keys
from workers.settings import Settings

GIVEN = {
    "ANTHROPIC_API_KEY": "a-key ",
    "ANTHROPIC_BASE_URL": "http://gateway.example",
    "OPENAI_API_KEY": None,
    "OPENAI_API_KEY_COMMAND": "pass show openai",
    "OPENAI_BASE_URL": None,
    "GEMINI_API_KEY": None,
    "GOOGLE_API_KEY": "g-key",
    "GOOGLE_GEMINI_BASE_URL": None,
    "providers": {"local": {"base_url": "http://l.example/v1"}, "openai": {"timeout_s": 9}},
    "endpoint_keys": {"local": SecretStr("l-key")},
}


def test_every_provider_has_an_address() -> None:
    assert addresses(Settings.model_validate(GIVEN)) == {
        "anthropic": "http://gateway.example",
        "openai": "https://api.openai.com/v1",
        "google": "https://generativelanguage.googleapis.com",
        "local": "http://l.example/v1",
    }


def test_keys_of_the_environment_are_known_and_no_command_is_run() -> None:
    assert sorted(known_keys(Settings.model_validate(GIVEN))) == ["a-key", "g-key", "l-key"]
