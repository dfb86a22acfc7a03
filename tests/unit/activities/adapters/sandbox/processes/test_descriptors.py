import os

import pytest

from activities.adapters.sandbox.processes.descriptors import memory_file, standard_input


def test_a_memory_file_is_read_from_its_start_and_never_changes():
    fd = memory_file(b"content", "name")
    try:
        assert os.read(fd, 100) == b"content"
        with pytest.raises(PermissionError):
            os.pwrite(fd, b"x", 0)
        with pytest.raises(PermissionError):
            os.truncate(fd, 0)
    finally:
        os.close(fd)


@pytest.mark.parametrize("content", [b"", b"text"])
def test_standard_input_ends(content: bytes):
    fd = standard_input(content)
    try:
        assert os.read(fd, 100) == content
        assert os.read(fd, 100) == b""
    finally:
        os.close(fd)
