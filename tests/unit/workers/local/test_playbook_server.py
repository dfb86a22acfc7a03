"""`workers.local.playbook_server`: a recording says what it holds and what a replay will lack."""

from pathlib import Path

from workers.local.playbook_server import PlaybookRecording, Recorded
from workers.settings import Settings


def recording(tmp_path: Path, port: int = 0, **given: str) -> PlaybookRecording:
    settings = Settings(data_dir=tmp_path)
    return PlaybookRecording(settings, tmp_path / "new.yaml", port, given, print)


async def test_listens_while_it_is_open_and_starts_empty(tmp_path: Path):
    async with recording(tmp_path, anthropic="http://127.0.0.1:1") as opened:
        assert opened.url.startswith("http://127.0.0.1:")
        assert opened.addresses["anthropic"] == "http://127.0.0.1:1"
        assert opened.recorded == Recorded(turns=0, agents=0)


def test_names_the_providers_whose_address_is_the_recorder(tmp_path: Path):
    assert recording(tmp_path, 4321, openai="http://localhost:4321/v1").loops == ["openai"]
