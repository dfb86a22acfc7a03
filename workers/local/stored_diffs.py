"""The diffs of validated tasks, read from the store that the workers of this machine share."""

from activities.adapters.blob_store import LocalStore
from activities.text.patch_text import patch_text
from workers.settings import Settings
from workflows.domain.ids import Digest


async def read_diff(settings: Settings, digest: Digest) -> str:
    """Return a task's whole diff; see `patch_text` for bytes that are not UTF-8.

    Raises:
        BlobMissingError: the store does not have it.
        OSError: the store cannot be read.
    """
    return patch_text(await LocalStore(settings.store_dir).get(digest))
