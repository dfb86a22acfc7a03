"""Records what passed: reads each answer, finds its place, and keeps the playbook up to date.

It knows no file and no connection: the caller defines how to save a text and how to report a
warning.
"""

import asyncio
import re
from collections.abc import Callable, Iterable
from typing import NamedTuple
from urllib.parse import parse_qsl

from pydantic import JsonValue, ValidationError

from activities.adapters.models.scripted.answer_choice import Place
from activities.adapters.models.scripted.playbook import Playbook
from activities.adapters.models.scripted.playbook_text import playbook_text
from activities.adapters.models.simulator.recording.answer_reader import Heard, Hearing
from activities.adapters.models.simulator.recording.captured_answer import MOST_BYTES, Captured
from activities.adapters.models.simulator.recording.recorded_playbook import Takes
from activities.adapters.models.simulator.recording.recording_proxy import Asked
from activities.adapters.models.simulator.recording.request_position import body_of, place_of
from activities.adapters.models.simulator.recording.upstreams import Destination
from activities.ports.model_provider import ModelError
from activities.text.foreign_json import text
from activities.text.redaction import KnownSecrets
from workflows.policy.text.secret_patterns import without_secrets

_SECRET = re.compile(r"key|token|secret|auth|cookie", re.IGNORECASE)
"""The prefix of a header's or parameter's value."""


class Keeping(NamedTuple):
    """How the caller saves texts and reports warnings."""

    save: Callable[[str], None]
    """Saves the playbook's text, whole or not at all; runs in a thread.

    Raises:
        OSError: it cannot be saved now.
    """
    warn: Callable[[str], None]
    """Reports one problem to a person, in one line."""


class Secrets:
    """Every key that is known so far."""

    def __init__(self, values: Iterable[str]) -> None:
        """Args: the keys known from the beginning."""
        self._values = set(values)
        self._known = KnownSecrets(self._values)

    def meet(self, asked: Asked) -> None:
        """Learn the keys of a request."""
        named = [*asked.header.items(), *parse_qsl(asked.query)]
        found = {
            part
            for name, value in named
            if _SECRET.search(name)
            for part in (value.strip(), *value.split())
        }
        if not found <= self._values:
            self._values |= found
            self._known = KnownSecrets(self._values)

    def without(self, text: str) -> str:
        """Return a text without any of the keys."""
        return self._known.redact(without_secrets(text))

    def cleaned(self, playbook: Playbook) -> Playbook:
        """Return a playbook without any of the keys in its texts."""
        said = playbook.model_dump(mode="json", by_alias=True)
        return Playbook.model_validate(self._clean(said))

    def _clean(self, value: JsonValue) -> JsonValue:
        if isinstance(value, str):
            return self.without(value)
        if isinstance(value, list):
            return [self._clean(item) for item in value]
        if isinstance(value, dict):
            return {self.without(key): self._clean(item) for key, item in value.items()}
        return value


class Transcript:
    """One recording; belongs to one event loop.

    Attributes:
        takes: what was recorded so far.
    """

    def __init__(self, name: str, keeping: Keeping, known: Iterable[str] = ()) -> None:
        """Args: the playbook's name; how to save and warn; secrets known from the start."""
        self.takes = Takes(name)
        self._keeping = keeping
        self._secrets = Secrets(known)
        self._hearing = Hearing()
        self._told: set[str] = set()

    def meet(self, asked: Asked) -> None:
        """Learn the keys of a request, before its answer can repeat one."""
        self._secrets.meet(asked)

    async def take(self, asked: Asked, destination: Destination, captured: Captured) -> bool:
        """Record one answer that passed; return whether the playbook changed."""
        if destination.dialect is None:
            return False
        body = body_of(asked.body)
        place = place_of(destination.dialect, body, self.takes.calls)
        if place is None:
            self._warn(
                f"not recorded: {asked.method} {asked.path} begins with no header of an agent "
                "(`Role: …`)"
            )
            return False
        if captured.ending == "too_long":
            self._warn(f"not recorded: {place}: its answer has over {MOST_BYTES >> 20} MB")
            return False
        model = destination.model or text(body.get("model"))
        try:
            heard = await self._hearing.hear(destination.dialect, model, captured)
        except Exception as error:  # noqa: BLE001 - the session must not notice
            self._warn(f"not recorded: {place}: it cannot be read ({error!r})")
            return False
        return self._kept(place, heard, captured)

    async def save(self) -> None:
        """Save the current playbook; report a failure instead of raising it."""
        playbook = self.takes.playbook()
        if playbook is None:
            return
        try:
            clean = await asyncio.to_thread(self._save_clean, playbook)
        except ValidationError:
            self._warn("the playbook cannot be saved: a key is one of the words that it needs")
            return
        except OSError as error:
            self._warn(f"the playbook cannot be saved now ({error}); the next answer tries again")
            return
        if clean != playbook:
            self._warn("a key was taken out of what was said; a replay says its kind in its place")

    async def aclose(self) -> None:
        """Close the reader of answers."""
        await self._hearing.aclose()

    def _kept(self, place: Place, heard: Heard, captured: Captured) -> bool:
        if captured.ending == "left" and heard.ran_out:
            self._warn(f"not recorded: {place}: its caller left before the answer was whole")
            return False
        if isinstance(heard.outcome, ModelError):
            told = self.takes.failed(place, heard.outcome, captured)
        else:
            told = self.takes.answered(place, heard.outcome)
        strange = [f"{k!r} in its answer has no word in a playbook" for k in heard.strange]
        for each in (*told, *strange):
            self._warn(f"{place}: {each}")
        return True

    def _save_clean(self, playbook: Playbook) -> Playbook:
        clean = self._secrets.cleaned(playbook)
        self._keeping.save(playbook_text(clean))
        return clean

    def _warn(self, message: str) -> None:
        if message not in self._told:
            self._told.add(message)
            self._keeping.warn(self._secrets.without(message))
