"""One answer as it came from the provider, byte for byte, and how it ended."""

from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from httpx2 import Response

Ending = Literal["whole", "broken", "left", "too_long"]
"""It ended normally; its connection broke; its caller left before it ended; or it passed, but was
too long to keep."""
MOST_BYTES: Final = 16 << 20
"""The limit for a kept answer; a playbook may not be longer either."""


class Captured(NamedTuple):
    """The answer to one request."""

    status: int
    headers: list[tuple[bytes, bytes]]
    chunks: list[bytes]
    """The body as received, still encoded."""
    ending: Ending

    @property
    def is_streamed(self) -> bool:
        """Whether it came as server-sent events."""
        kinds = [value for name, value in self.headers if name.lower() == b"content-type"]
        return any(b"event-stream" in kind for kind in kinds)

    def response(self, run_out: Callable[[], None]) -> "Response":
        """Return a response with the same content and the same kind of end.

        Args:
            run_out: called when the content ends before the answer does.
        """
        from httpx2 import AsyncByteStream, ReadError, Response

        chunks, is_whole = self.chunks, self.ending == "whole"

        class _Again(AsyncByteStream):
            async def __aiter__(self) -> AsyncIterator[bytes]:
                for chunk in chunks:
                    yield chunk
                if not is_whole:
                    run_out()
                    raise ReadError("the connection ended")

        return Response(self.status, headers=self.headers, stream=_Again())
