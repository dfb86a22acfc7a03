"""Descriptors that hand bytes to a child without a file and without a writer task."""

import fcntl
import os


def memory_file(content: bytes, name: str) -> int:
    """Return a sealed anonymous file that holds `content`, read from its start.

    Args:
        content: any bytes; the child can read them again, but neither it nor we can change them.
        name: shown in `/proc/self/fd` of whoever holds the descriptor; never a secret.
    """
    fd = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.truncate(fd, len(content))
        written = 0
        while written < len(content):
            written += os.pwrite(fd, content[written : written + (1 << 30)], written)
        seals = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
    except BaseException:
        os.close(fd)
        raise
    return fd


def standard_input(content: bytes) -> int:
    """Return a descriptor to read `content` from; an empty one is `/dev/null`.

    Not an empty pipe: a search tool that is given no path takes a pipe for what it is to search,
    finds nothing there, and never looks at the files.
    """
    if content:
        return memory_file(content, "stdin")
    return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
