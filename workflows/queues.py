"""Task queues: one for each worker role, and one of its own for each host, where its disk is."""

from typing import Final

WORKFLOWS: Final = "workflows"
MODELS: Final = "models"
HOST: Final = "host"
LAND: Final = "land"


def host_queue(host: str) -> str:
    """Return the queue that leads to one host's disk.

    Args:
        host: the host's name, as its `hosts.claim` answers it.
    """
    return f"{HOST}/{host}"
