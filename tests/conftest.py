"""What every test shares: how hypothesis searches, and what the processes it starts inherit.

Fixtures live beside the tests that use them.
"""

import os
import signal
from collections.abc import Generator
from itertools import groupby
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.database import DirectoryBasedExampleDatabase

from tests.effort import mark_unsampled

# No deadline: a slow machine is not a fault, and a timed assertion does not belong in a test.
_CALM = settings(
    deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow], max_examples=100
)
settings.register_profile("ci", _CALM, derandomize=True, max_examples=40)
settings.register_profile("thorough", _CALM, max_examples=2000)
# Whatever runs the tests in the background may have it ignored, and what they start inherits that.
signal.signal(signal.SIGINT, signal.default_int_handler)
# These tests may be the gate of a session on this repository; what they start is no part of it.
os.environ.pop("BLUEFLAME_INSIDE", None)

# What `make fuzz` runs again and again; the cases that failed are kept, and tried first.
_KEPT = Path(os.environ.get("HYPOTHESIS_STORAGE_DIRECTORY", ".hypothesis"), "examples")
settings.register_profile(
    "fuzz",
    _CALM,
    max_examples=50,
    derandomize=False,
    database=DirectoryBasedExampleDatabase(_KEPT),
)
# The same examples each time: to search for new ones is the work of `make fuzz`.
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

_LONG = ("slow", "crash")
"""Marks of tests that may take longer than a minute."""

pytest_plugins = ("tests.servers", "tests.theatre")


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Generator[None]:
    """Sample cases before tests are chosen by their marks; begin files of whole sessions early."""
    mark_unsampled(items)
    yield
    items[:] = _long_files_early(items)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Refuse a test that may take longer than others and is not marked."""
    if item.get_closest_marker("timeout") and not any(map(item.get_closest_marker, _LONG)):
        pytest.fail("it has a time limit of its own: mark it as slow", pytrace=False)


def _long_files_early(items: list[pytest.Item]) -> list[pytest.Item]:
    """Spread the files of whole sessions over the first half of a run, and keep the rest in order.

    Begun last, one of them would keep a single test process busy long after the others. All of them
    first would be the work of one process: each begins with one stretch of the tests.
    """
    files = [list(tests) for _, tests in groupby(items, lambda item: item.path)]
    long = [tests for tests in files if any(map(_is_of_a_session, tests))]
    ordered = [tests for tests in files if not any(map(_is_of_a_session, tests))]
    for number, tests in enumerate(long):
        ordered.insert(number + number * len(ordered) // (2 * len(long)), tests)
    return [item for tests in ordered for item in tests]


def _is_of_a_session(item: pytest.Item) -> bool:
    return item.get_closest_marker("e2e") is not None
