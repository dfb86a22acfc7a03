"""The Responses stream: the last event holds the whole answer, the others say that it moves."""

from activities.adapters.models.dialects.openai_responses import failure
from activities.adapters.models.error_classes import decide
from activities.text.foreign_json import Json, table, text

_LAST = frozenset({"response.completed", "response.incomplete", "response.failed"})
_SILENT = frozenset({"response.created", "response.queued", "response.in_progress"})


class ResponseAssembly:
    """One response; implements `activities.adapters.models.streams.Assembly`."""

    def __init__(self) -> None:
        self.is_whole = False
        self.has_begun = False
        self._response: Json = {}

    def take(self, event: Json) -> None:
        """See the protocol; an event of type `error` has the error's fields beside its type."""
        kind = text(event.get("type"))
        if kind == "error":
            raise decide(failure(event))
        if kind == "response.failed" and self.has_begun:
            raise decide(failure(table(table(event.get("response")).get("error"))))
        if kind in _LAST:
            self._response = table(event.get("response"))
            self.is_whole = True
        elif kind.startswith("response.") and kind not in _SILENT:
            self.has_begun = True

    def body(self) -> Json:
        """See the protocol."""
        return self._response
