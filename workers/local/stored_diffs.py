"""The diffs of validated tasks, read from the store that the workers of this machine share."""

from activities.adapters.blob_store import LocalStore
from workers.settings import Settings
from workflows.domain.ids import Digest


async def read_diff(settings: Settings, digest: Digest) -> str:
    """Return a task's whole diff; bytes that are not UTF-8 are replaced.

    Raises:
        BlobMissingError: the store does not have it.
        OSError: the store cannot be read.
    """
    return (await LocalStore(settings.store_dir).get(digest)).decode("utf-8", "replace")
