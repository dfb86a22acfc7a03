"""A process that runs out of descriptors, for a moment."""

import contextlib
import os
import resource
from collections.abc import Generator


@contextlib.contextmanager
def only_descriptors(count: int) -> Generator[None]:
    """Leave this process no more than `count` descriptors to open while the block runs."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    free: list[int] = []
    while len(free) <= count:
        free.append(os.dup(0))
    for each in free:
        os.close(each)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free[-1], hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
