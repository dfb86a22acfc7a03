"""The generateContent stream put together: chunks to the JSON of a whole answer.

Each chunk is a small answer. Neighbouring texts are joined, but never one that carries a signature:
it must go back on the part on which it came. The chunk with a finish reason, or with the reason why
the prompt was blocked, is the last.
"""

from activities.text.foreign_json import Json, table, tables, text


class ContentAssembly:
    """One answer; implements `activities.adapters.models.streams.Assembly`."""

    def __init__(self) -> None:
        self.is_whole = False
        self.has_begun = False
        self._body: Json = {}
        self._candidate: Json = {}
        self._parts: list[Json] = []

    def take(self, event: Json) -> None:
        """See the protocol."""
        candidate = next(iter(tables(event.get("candidates"))), Json())
        for part in tables(table(candidate.get("content")).get("parts")):
            self._add(part)
        self.has_begun = bool(self._parts)
        self._body |= event
        self._candidate |= candidate
        is_blocked = table(event.get("promptFeedback")).get("blockReason")
        self.is_whole = bool(candidate.get("finishReason") or is_blocked)

    def body(self) -> Json:
        """See the protocol."""
        content = {"role": "model", "parts": self._parts}
        candidates = [self._candidate | {"content": content}] if self._candidate else []
        return self._body | {"candidates": candidates}

    def _add(self, part: Json) -> None:
        if _is_plain(part) and not part["text"]:
            return  # the last chunk has one beside its reason
        last = self._parts[-1] if self._parts else Json()
        if _is_plain(part) and _is_plain(last) and part.get("thought") == last.get("thought"):
            last["text"] = text(last["text"]) + text(part["text"])
        else:
            self._parts.append(part)


def _is_plain(part: Json) -> bool:
    return "text" in part and set(part) <= {"text", "thought"}
