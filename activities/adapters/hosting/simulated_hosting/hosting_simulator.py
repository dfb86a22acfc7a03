"""A simulated hosting service over HTTP, in this event loop, with faults on request."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Self
from urllib.parse import parse_qsl

from activities.adapters.hosting.simulated_hosting.simulated_answer import (
    Answer,
    Asked,
    Fault,
    Operation,
    RefusedError,
    as_json,
    spoilt,
)
from activities.adapters.hosting.simulated_hosting.simulated_gitea import SimulatedGitea
from activities.adapters.hosting.simulated_hosting.simulated_github import SimulatedGitHub
from activities.adapters.hosting.simulated_hosting.simulated_gitlab import SimulatedGitLab
from activities.adapters.hosting.simulated_hosting.simulated_pulls import SimulatedRepository
from activities.adapters.http_listener import Listening
from activities.ports.land.hosting_entries import Api, HostingEntry
from activities.text.foreign_json import is_table

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

VARIABLE: Final = "SIMULATED_HOSTING_TOKEN"
"""The environment variable that clients of a simulated service are to take the token from."""
_SPEAKERS: Final = {"github": SimulatedGitHub, "gitlab": SimulatedGitLab, "gitea": SimulatedGitea}


class _Broken(Exception):  # noqa: N818 (control flow: it ends a connection)
    """An answer that is meant to break off."""


class Served(NamedTuple):
    """One request that was answered."""

    operation: Operation
    method: str
    path: str
    fault: Fault | None
    status: int


class SimulatedHosting:
    """An asynchronous context: the service answers while it is open.

    Attributes:
        url: its address; known once it is open.
        token: the only one that is taken.
        log: what was asked, in order.
        on_served: called with each request that was carried out, before its answer is sent.
    """

    def __init__(self, api: Api, port: int = 0, host: str = "127.0.0.1") -> None:
        """Args: the API that it speaks; the port (0: any free one); the address to listen on."""
        self._api: Api = api
        self._address = (port, host)
        self._repositories: dict[str, SimulatedRepository] = {}
        self._faults: list[tuple[Operation, Fault]] = []
        self._listening: Listening | None = None
        self.url = ""
        self.token = "simulated-token"  # noqa: S105 (it opens nothing)
        self.log: list[Served] = []
        self.on_served: Callable[[Served], None] = lambda _: None

    def add(self, name: str, bare: Path | None = None) -> SimulatedRepository:
        """Add a repository.

        Args:
            name: `owner/name`.
            bare: a bare repository that holds its branches; None: every branch exists.
        """
        self._repositories[name] = SimulatedRepository(name, bare)
        return self._repositories[name]

    def spoil(self, operation: Operation, *faults: Fault) -> None:
        """Answer the next requests of a kind with these faults, one after the other."""
        self._faults.extend((operation, fault) for fault in faults)

    def entry(self, folder: Path, repositories: Sequence[str] = ("*",)) -> HostingEntry:
        """Return the entry for `hosting` of this service.

        Args:
            folder: holds the bare repositories, as `owner/name.git`.
            repositories: those that may be pushed to.
        """
        return HostingEntry(
            repositories=tuple(repositories),
            api=self._api,
            url=self.url,
            git_url=f"file://{folder}/{{repository}}.git",
            token=VARIABLE,
        )

    async def __aenter__(self) -> Self:
        port, host = self._address
        self._listening = await Listening(self, port, host).__aenter__()
        self.url = self._listening.url
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._listening is not None:
            await self._listening.__aexit__()

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Answer one request: the interface of ASGI."""
        if scope["type"] != "http":
            return
        answer = self._answer(await _asked(scope, receive))
        length = len(answer.body) + 1_000 * answer.is_broken
        headers = {"content-type": "application/json", **answer.headers, "content-length": length}
        pairs = [(name.encode(), str(value).encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": answer.status, "headers": pairs})
        await send(
            {"type": "http.response.body", "body": answer.body, "more_body": answer.is_broken}
        )
        if answer.is_broken:
            raise _Broken

    def _answer(self, asked: Asked) -> Answer:
        speaker = _SPEAKERS[self._api](self.url, self._repositories)
        operation = speaker.operation(asked)
        fault = self._fault(operation)

        def carry_out() -> Answer:
            if not speaker.is_authorised(asked, self.token):
                return as_json(401, {"message": "Bad credentials"})
            try:
                return speaker.answer(asked)
            except RefusedError as error:
                return speaker.refusal(error)

        answer = spoilt(fault, carry_out)
        self.log.append(Served(operation, asked.method, asked.path, fault, answer.status))
        self.on_served(self.log[-1])
        return answer

    def _fault(self, operation: Operation) -> Fault | None:
        for index, (of, fault) in enumerate(self._faults):
            if of == operation:
                del self._faults[index]
                return fault
        return None


async def _asked(scope: "Scope", receive: "Receive") -> Asked:
    content = b""
    while True:
        message = await receive()
        content += message.get("body", b"")
        if not message.get("more_body", False):
            break
    headers: Mapping[str, str] = {
        name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]
    }
    body: object = json.loads(content) if content else {}
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    return Asked(
        method=scope["method"],
        path=raw.decode("ascii").partition("?")[0],
        query=dict(parse_qsl(scope["query_string"].decode("ascii"))),
        body=body if is_table(body) else {},
        authorization=headers.get("authorization", ""),
    )
