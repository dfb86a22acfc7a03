"""`doctor` on providers: which keys they want, by name, and never what they hold."""

from pathlib import Path

import pytest

from activities.ports.endpoints import ProviderEntry
from starter.checks import all_checks, line
from workers.settings import Settings

LOCAL = ProviderEntry(base_url="http://127.0.0.1:11434/v1")
GATEWAY = ProviderEntry(base_url="https://gateway.example/v1", key="GATEWAY_KEY")


@pytest.mark.parametrize(
    ("providers", "given", "said"),
    [
        ({}, {}, "note    keys      none is set; set those of two providers"),
        ({"local": LOCAL}, {}, "ok      keys      none is set; local wants none"),
        ({"gateway": GATEWAY}, {}, "note    keys      your providers want GATEWAY_KEY"),
        ({"gateway": GATEWAY}, {"GATEWAY_KEY": "canary"}, "ok      keys      GATEWAY_KEY (set"),
        ({}, {"OPENAI_API_KEY": "canary"}, "ok      keys      OPENAI_API_KEY (set, not tried)"),
    ],
)
async def test_the_keys_that_are_wanted(
    providers: dict[str, ProviderEntry],
    given: dict[str, str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    settings = Settings(data_dir=tmp_path, providers=providers)
    (keys,) = [line(check) for check in await all_checks(settings) if check.name == "keys"]
    assert keys.startswith(said)
    assert "canary" not in keys
