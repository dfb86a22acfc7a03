"""Blob stores: a directory that processes of several users share, and one in memory.

`LocalStore` writes each blob once under its digest, durably (written aside, flushed, renamed), and
checks the digest on every read. The directory determines who may write: files and folders inside
get its mode and, if the process may change owners, its owner. Only what carried a base is deleted
when it has arrived; for all else there is `blob_expiry`, by a blob's last put. `MemoryStore` keeps
nothing beyond the process.
"""

import asyncio
import hashlib
import os
import re
import secrets
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import IO, Final

from activities.ports.blob_store_port import BlobMissingError
from workflows.domain.ids import Digest

_PART_BYTES: Final = 1 << 20
_DIGEST = re.compile(r"[0-9a-f]{64}")


def digest_of(data: bytes) -> Digest:
    """Return the SHA-256 of `data` in lower-case hexadecimal."""
    return Digest(hashlib.sha256(data).hexdigest())


class MemoryStore:
    """A `BlobStore` for tests and single-process runs; gone with the process."""

    def __init__(self) -> None:
        self._blobs: dict[Digest, bytes] = {}

    async def put(self, data: bytes) -> Digest:
        """Keep `data`; see the port."""
        digest = digest_of(data)
        self._blobs[digest] = bytes(data)
        return digest

    async def get(self, digest: Digest) -> bytes:
        """Return the stored bytes; see the port."""
        try:
            return self._blobs[digest]
        except KeyError:
            raise BlobMissingError(f"no blob {digest!r} in memory") from None

    async def put_from(self, write: Callable[[int], Awaitable[None]]) -> Digest:
        """Keep what `write` writes; see the port."""
        with tempfile.TemporaryFile() as file:
            await write(file.fileno())
            file.seek(0)
            return await self.put(file.read())

    @asynccontextmanager
    async def opened(self, digest: Digest) -> AsyncGenerator[int]:
        """Open a blob; see the port."""
        data = await self.get(digest)
        with tempfile.TemporaryFile() as file:
            file.write(data)
            file.seek(0)
            yield file.fileno()

    async def discard(self, digest: Digest) -> None:
        """Forget a blob; see the port."""
        self.lose(digest)

    def lose(self, digest: Digest) -> None:
        """Forget a blob, as a disk does; a missing blob is not an error."""
        self._blobs.pop(digest, None)


class LocalStore:
    """A `BlobStore` in a directory, 256 folders wide; safe for many processes and users at once."""

    def __init__(self, directory: Path) -> None:
        """Args: an existing directory, whose mode and owner everything inside gets."""
        self._directory = directory

    async def put(self, data: bytes) -> Digest:
        """Store `data` durably; see the port."""
        digest = digest_of(data)
        await asyncio.to_thread(self._write, digest, data)
        return digest

    async def get(self, digest: Digest) -> bytes:
        """Return the bytes under `digest`, checked; see the port."""
        return await asyncio.to_thread(self._read, digest)

    async def put_from(self, write: Callable[[int], Awaitable[None]]) -> Digest:
        """Store what `write` writes, in bounded memory; see the port."""
        aside = self._directory / f".{secrets.token_hex(8)}.new"
        try:
            with self._made(aside) as file:
                await write(file.fileno())
                os.fsync(file.fileno())
                digest = await asyncio.to_thread(_digest_in, file.fileno())
            folder = self.path(digest).parent
            await asyncio.to_thread(self._folder, folder)
            aside.replace(folder / digest)
        finally:
            aside.unlink(missing_ok=True)
        await asyncio.to_thread(_flush, folder)
        return digest

    @asynccontextmanager
    async def opened(self, digest: Digest) -> AsyncGenerator[int]:
        """Open a blob, checked in bounded memory; see the port."""
        path = self.path(digest)
        try:
            file = path.open("rb")
        except FileNotFoundError:
            raise BlobMissingError(f"no blob {digest!r} in {str(self._directory)!r}") from None
        with file:
            if await asyncio.to_thread(_digest_in, file.fileno()) != digest:
                raise BlobMissingError(f"the file {str(path)!r} does not hold what its name says")
            yield file.fileno()

    async def discard(self, digest: Digest) -> None:
        """Delete a blob; see the port."""
        await asyncio.to_thread(self.path(digest).unlink, missing_ok=True)

    def path(self, digest: Digest) -> Path:
        """Return the path of the blob `digest`, whether it exists or not.

        Raises:
            BlobMissingError: `digest` is not a digest, so it has no path.
        """
        if _DIGEST.fullmatch(digest) is None:
            raise BlobMissingError(f"{digest!r} is not SHA-256 in lower-case hexadecimal")
        return self._directory / digest[:2] / digest

    def _read(self, digest: Digest) -> bytes:
        path = self.path(digest)
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            raise BlobMissingError(f"no blob {digest!r} in {str(self._directory)!r}") from None
        if digest_of(data) != digest:
            raise BlobMissingError(f"the file {str(path)!r} does not hold what its name says")
        return data

    def _write(self, digest: Digest, data: bytes) -> None:
        if self._is_there(digest):
            return
        final = self.path(digest)
        self._folder(final.parent)
        aside = self._directory / f".{secrets.token_hex(8)}.new"
        try:
            self._write_aside(aside, data)
            aside.replace(final)
        finally:
            aside.unlink(missing_ok=True)
        _flush(final.parent)

    def _is_there(self, digest: Digest) -> bool:
        """Rewrite a torn or tampered file, so that a put always repairs."""
        try:
            # Before the check, so that a later collection spares the blob or is seen to take it.
            os.utime(self.path(digest))
            self._read(digest)
        except (BlobMissingError, OSError):
            return False
        return True

    def _write_aside(self, path: Path, data: bytes) -> None:
        with self._made(path) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())

    @contextmanager
    def _made(self, path: Path) -> Generator[IO[bytes]]:
        """Make a file aside, for the store's users; after the block it is closed."""
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "r+b") as file:
            self._hand_over(descriptor, 0o666)
            yield file

    def _folder(self, folder: Path) -> None:
        """Make a fan-out folder that never has a narrower mode than its final one."""
        if folder.is_dir():
            return
        aside = self._directory / f".{secrets.token_hex(8)}.dir"
        aside.mkdir(mode=0o700)
        descriptor = open_made(aside)
        try:
            self._hand_over(descriptor, 0o7777)
            aside.rename(folder)
        except OSError:
            # Another process was faster; if not, this process failed.
            aside.rmdir()
            if not folder.is_dir():
                raise
        finally:
            os.close(descriptor)
        _flush(self._directory)

    def _hand_over(self, descriptor: int, mask: int) -> None:
        """Give a new file or folder the directory's mode and, as root, its owner."""
        like = self._directory.stat()
        if os.geteuid() == 0:
            os.fchown(descriptor, like.st_uid, like.st_gid)
        os.fchmod(descriptor, like.st_mode & mask)


def open_made(folder: Path) -> int:
    """Open a new folder; the owner of its parent may have put another one there.

    Raises:
        OSError: it is a link, or belongs to another user.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    if os.fstat(descriptor).st_uid != os.geteuid():
        os.close(descriptor)
        raise PermissionError(f"{str(folder)!r} was made here and belongs to another now")
    return descriptor


def _digest_in(descriptor: int) -> Digest:
    """Return the digest of an open file from its start, and leave the file at its start."""
    digest = hashlib.sha256()
    os.lseek(descriptor, 0, os.SEEK_SET)
    while part := os.read(descriptor, _PART_BYTES):
        digest.update(part)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return Digest(digest.hexdigest())


def _flush(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
