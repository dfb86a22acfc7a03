"""A way to a simulator that stands for the real providers, and what is taken down of it."""

from collections.abc import Iterable
from typing import Any

from activities.adapters.models.scripted.playbook import Playbook, ScriptedTurn, parse_playbook
from activities.adapters.models.simulator.recording.captured_answer import Captured
from activities.adapters.models.simulator.recording.recording_proxy import Asked
from activities.adapters.models.simulator.recording.transcript import Keeping, Transcript
from activities.adapters.models.simulator.recording.upstreams import Destination
from activities.adapters.models.simulator.simulator_server import Simulator, base_urls
from activities.ports.model_provider import ModelError, ModelReply
from tests.unit.activities.adapters.models.wire import KEY, OPENING, ask, play, registry
from tests.waiting import until
from workflows.domain.agent.messages import Message
from workflows.domain.agent.model_values import Provider

HEADERS = {"x-api-key": KEY, "authorization": f"Bearer {KEY}", "x-goog-api-key": KEY}
"""The key in the place of each provider."""
USER = {"role": "user", "content": OPENING.text}
CONTENTS = {"contents": [{"role": "user", "parts": [{"text": OPENING.text}]}]}
AT_ONCE: dict[str, dict[str, Any]] = {
    "/v1/messages": {"model": "m", "max_tokens": 9, "messages": [USER]},
    "/v1/responses": {"model": "m", "input": [USER]},
    "/v1/chat/completions": {"model": "m", "messages": [USER]},
    "/v1beta/models/m:generateContent": CONTENTS,
}
"""The shortest request of each kind, to be answered whole."""
STREAMED: dict[str, dict[str, Any]] = {
    **{path: body | {"stream": True} for path, body in AT_ONCE.items() if body != CONTENTS},
    "/v1beta/models/m:streamGenerateContent?alt=sse": CONTENTS,
}
"""The same, to be answered in pieces."""


class Studio:
    """One transcript after the other, over the same connections."""

    def __init__(self, simulator: Simulator) -> None:
        self.simulator = simulator
        self.begin()

    def listen(self, url: str) -> None:
        """Say where the way to the simulator begins."""
        self.url = url
        self.direct, self.registry = registry(self.simulator.base_urls), registry(base_urls(url))

    def begin(self, *turns: str, known: Iterable[str] = ()) -> None:
        """Begin a play, and a transcript of it."""
        self.simulator.play(play(*turns or ("{text: unused}",)))
        self.saved: list[str] = []
        self.warnings: list[str] = []
        self.passed: list[tuple[Asked, Destination, Captured]] = []
        keeping = Keeping(self.saved.append, self.warnings.append)
        self.transcript = Transcript("recorded", keeping, known)

    def meet(self, asked: Asked) -> None:
        self.transcript.meet(asked)

    def note(self, asked: Asked, destination: Destination, captured: Captured) -> None:
        self.passed.append((asked, destination, captured))

    async def call(
        self, provider: Provider, *messages: Message, direct: bool = False
    ) -> ModelReply | ModelError:
        """How one call ends, over the official client of its provider."""
        callers = self.direct if direct else self.registry
        try:
            return await callers.call(ask(provider, *messages))
        except ModelError as failure:
            return failure

    async def answer(
        self, provider: Provider, *messages: Message, direct: bool = False
    ) -> ModelReply:
        """What is answered."""
        reply = await self.call(provider, *messages, direct=direct)
        assert isinstance(reply, ModelReply), reply
        return reply

    async def taken_down(self, times: int) -> Playbook:
        """The file once so many answers have passed, read as any playbook is."""
        await until(lambda: len(self.passed) >= times, f"{times} answers passed")
        for each in self.passed:
            if await self.transcript.take(*each):
                await self.transcript.save()
        return parse_playbook(self.saved[-1], "recorded.yaml")

    async def turns(self, times: int) -> tuple[ScriptedTurn, ...]:
        """Those of the only scene."""
        (scene,) = (await self.taken_down(times)).scenes
        return scene.turns

    async def aclose(self) -> None:
        await self.direct.aclose()
        await self.registry.aclose()
        await self.transcript.aclose()
