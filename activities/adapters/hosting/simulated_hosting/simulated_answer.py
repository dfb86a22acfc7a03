"""Requests to a simulated hosting service, answers, and what may go wrong with them.

| fault          | the request       | the answer                                              |
|----------------|-------------------|---------------------------------------------------------|
| `limited`      | not carried out   | 429 with `retry-after`                                  |
| `limited_403`  | not carried out   | 403 with nothing left of the limit                      |
| `unavailable`  | not carried out   | 503                                                     |
| `failed_after` | carried out       | 500                                                     |
| `lost_before`  | not carried out   | the connection breaks                                   |
| `lost_after`   | carried out       | the connection breaks                                   |
| `garbled`      | carried out       | 200 with half of the JSON                               |
| `revoked`      | not carried out   | 401                                                     |
| `forbidden`    | not carried out   | 403                                                     |
| `exists`       | carried out twice | what the second one gets: it exists already             |
"""

import json
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

from activities.text.foreign_json import Json

Fault = Literal[
    "limited", "limited_403", "unavailable", "failed_after", "lost_before",
    "lost_after", "garbled", "revoked", "forbidden", "exists",
]  # fmt: skip
Operation = Literal["find", "create", "change", "look"]
"""What a request is for."""


class RefusedError(Exception):
    """A request that the service refuses."""

    def __init__(self, status: int, text: str) -> None:
        """Args: the status; the service's words."""
        super().__init__(text)
        self.status = status


class Asked(NamedTuple):
    """One request."""

    method: str
    path: str
    query: Mapping[str, str]
    body: Json
    authorization: str


class Answer(NamedTuple):
    """What is sent back."""

    status: int
    body: bytes
    headers: Mapping[str, str] = {}
    is_broken: bool = False
    """The connection breaks before the body is complete."""


def as_json(status: int, body: object, **headers: str) -> Answer:
    """Return an answer of JSON."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status, json.dumps(body).encode(), named)


_BROKEN = Answer(200, b"", is_broken=True)
_INSTEAD: Mapping[Fault, Answer] = {
    "limited": as_json(429, {"message": "too many requests"}, retry_after="0.05"),
    "limited_403": as_json(
        403,
        {"message": "API rate limit exceeded"},
        x_ratelimit_remaining="0",
        retry_after="0.05",
    ),
    "unavailable": as_json(503, {"message": "try again later"}),
    "revoked": as_json(401, {"message": "Bad credentials"}),
    "forbidden": as_json(403, {"message": "Resource not accessible by personal access token"}),
}


def spoilt(fault: Fault | None, carry_out: Callable[[], Answer]) -> Answer:
    """Return an answer with a fault; see the table above.

    Args:
        fault: None: none.
        carry_out: does what was asked, and returns the answer.
    """
    if fault == "lost_before":
        return _BROKEN
    if fault is not None and fault in _INSTEAD:
        return _INSTEAD[fault]
    return _afterwards(fault, carry_out)


def _afterwards(fault: Fault | None, carry_out: Callable[[], Answer]) -> Answer:
    done = carry_out()
    match fault:
        case "failed_after":
            return as_json(500, {"message": "internal error"})
        case "lost_after":
            return _BROKEN
        case "garbled":
            return Answer(200, done.body[: len(done.body) // 2])
        case "exists":
            return carry_out()
        case _:
            return done
