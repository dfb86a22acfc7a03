"""`starter.views.worker_words`: how a session goes on whose workers end."""

from pathlib import Path

from starter.views import worker_words
from starter.views.safety_labels import NO_SANDBOX


def test_detaching_explains_how_the_session_continues() -> None:
    played = Path("/a b/play.yaml")
    again = "`blueflame up --detach --playbook '/a b/play.yaml'`"
    assert worker_words.detached("s1", "blueflame", played, goes_on=False)[0].endswith(
        f"again: {again}"
    )
    assert again in worker_words.rests("blueflame", played)[0]
    assert "`blueflame up --detach`" in worker_words.rests("blueflame", None)[0]
    assert (
        worker_words.detached("s1", "blueflame", goes_on=True)[0] == "detached; session s1 goes on"
    )


def test_workers_name_their_playbook_and_a_missing_sandbox() -> None:
    assert worker_words.workers_marks(None, "required") == []
    assert worker_words.workers_marks(Path("/play.yaml"), "none") == [
        "Models     SCRIPTED: /play.yaml is played",
        f"Sandbox    {NO_SANDBOX}",
    ]
