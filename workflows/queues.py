"""Task queues: one for each worker role, and one for each host, because its disk is there."""

from typing import Final

WORKFLOWS: Final = "workflows"
MODELS: Final = "models"
HOST: Final = "host"
LAND: Final = "land"


def host_queue(host: str) -> str:
    """Return the queue of one host, for work on its disk.

    Args:
        host: the host's name, from the outcome of its `hosts.claim`.
    """
    return f"{HOST}/{host}"
