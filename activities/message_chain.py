"""Conversations as a chain of content-addressed nodes over the blob store.

Each `append` stores one node: the digest of the node before it and the messages that follow. The
digest of the head therefore names the whole conversation, a retried append is the same append, and
a call sends only what is new. A node's bytes keep the order of keys that the provider gave (the
provider's cache sees it); the same messages appended in the same portions always have the same
head. Nodes last used stay in memory; that cache may vanish at any time, the store may not.
"""

from collections import OrderedDict
from collections.abc import Sequence

from pydantic import BaseModel, Field

from activities.ports.blob_store_port import BlobMissingError, BlobStore
from activities.text.surrogates import clean_values
from workflows.domain.agent.messages import Message
from workflows.domain.ids import Digest

CACHE_BYTES = 128 << 20


class PrefixLostError(Exception):
    """The store has lost a part of a conversation; the whole must be sent again.

    Attributes:
        missing: the digest of the node that is gone.
    """

    def __init__(self, head: Digest, missing: Digest) -> None:
        super().__init__(
            f"conversation {head!r} cannot be loaded: its node {missing!r} is missing from the "
            "store; send the whole conversation again"
        )
        self.missing = missing


class _Node(BaseModel, frozen=True, extra="forbid"):
    schema_version: int = Field(default=1, alias="schema", ge=1, le=1)
    previous: Digest | None
    messages: tuple[Message, ...] = Field(min_length=1)


class Conversations:
    """Appends to and loads conversations; one object serves a whole worker."""

    def __init__(self, store: BlobStore, cache_bytes: int = CACHE_BYTES) -> None:
        """Args: where nodes are stored; how many bytes of nodes stay in memory (0: none)."""
        self._store = store
        self._limit = cache_bytes
        self._held = 0
        self._cache: OrderedDict[Digest, tuple[_Node, int]] = OrderedDict()

    async def append(self, prefix: Digest | None, messages: Sequence[Message]) -> Digest:
        """Store `messages` after the conversation `prefix` (None: they begin one).

        Args:
            prefix: the head that is extended; it is not looked up.
            messages: what follows, in order; none at all leaves the head as it is.

        Returns:
            The new head. The same prefix and messages always have the same one.

        Raises:
            ValueError: there is neither a prefix nor a message.
        """
        if not messages:
            if prefix is None:
                raise ValueError("a conversation begins with at least one message")
            return prefix
        node, data = _encode(prefix, messages)
        head = await self._store.put(data)
        self._remember(head, node, len(data))
        return head

    async def load(self, head: Digest) -> tuple[Message, ...]:
        """Return the whole conversation that ends at `head`, oldest message first.

        Raises:
            PrefixLostError: the store holds a part of it no more.
        """
        portions: list[tuple[Message, ...]] = []
        at: Digest | None = head
        while at is not None:
            node = await self._node(at, head)
            portions.append(node.messages)
            at = node.previous
        return tuple(message for portion in reversed(portions) for message in portion)

    async def _node(self, digest: Digest, head: Digest) -> _Node:
        found = self._cache.get(digest)
        if found is not None:
            self._cache.move_to_end(digest)
            return found[0]
        try:
            data = await self._store.get(digest)
        except BlobMissingError:
            raise PrefixLostError(head, digest) from None
        node = _Node.model_validate_json(data)
        self._remember(digest, node, len(data))
        return node

    def _remember(self, digest: Digest, node: _Node, size: int) -> None:
        if digest not in self._cache:
            self._held += size
        self._cache[digest] = (node, size)
        self._cache.move_to_end(digest)
        while self._held > self._limit:
            self._held -= self._cache.popitem(last=False)[1][1]


def _encode(previous: Digest | None, messages: Sequence[Message]) -> tuple[_Node, bytes]:
    """Make a node and its bytes; lone surrogates, which no JSON can hold, are replaced here."""
    node = _Node(schema=1, previous=previous, messages=tuple(messages))
    try:
        return node, _dump(node)
    except ValueError:
        cleaned = clean_values(node.model_dump(mode="python", by_alias=True))
        node = _Node.model_validate(cleaned)
        return node, _dump(node)


def _dump(node: _Node) -> bytes:
    return node.model_dump_json(by_alias=True).encode()
