"""Keys kept out of a recording: those that passed by, and what has the form of one."""

import re
from collections.abc import Iterable
from urllib.parse import parse_qsl

from pydantic import JsonValue

from activities.adapters.models.scripted.playbook import Playbook
from activities.adapters.models.simulator.recording.recording_proxy import Asked
from activities.text.redaction import KnownSecrets
from workflows.policy.text.secret_patterns import without_secrets

_SECRET = re.compile(r"key|token|secret|auth|cookie", re.IGNORECASE)
"""Of a header or a parameter: what its value is."""


class Secrets:
    """Every key that is known so far."""

    def __init__(self, values: Iterable[str]) -> None:
        """Args: those known from the beginning."""
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
        """Return a text without any of them."""
        return self._known.redact(without_secrets(text))

    def cleaned(self, playbook: Playbook) -> Playbook:
        """Return a playbook without any of them in any of its texts."""
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
