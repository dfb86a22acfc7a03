"""`tests.effort`: what an ordinary run leaves out."""

import pytest

from tests.effort import mark_unsampled


class Case(pytest.Item):
    """A test that is only listed."""

    def runtest(self) -> None:
        raise NotImplementedError


def cases(request: pytest.FixtureRequest, name: str, count: int, each: int) -> list[pytest.Item]:
    made: list[pytest.Item] = [
        Case.from_parent(request.node.parent, name=f"{name}[{number}]") for number in range(count)
    ]
    for item in made:
        item.add_marker(pytest.mark.sampled(each))
    return made


@pytest.mark.parametrize(("count", "each", "run"), [(7, 3, {2, 3}), (2, 5, {1}), (1, 4, {1})])
def test_of_sampled_cases_some_are_run_and_never_none(
    request: pytest.FixtureRequest, count: int, each: int, run: set[int]
):
    for name in ("test_a", "test_b", "test_c"):
        items = cases(request, name, count, each)
        mark_unsampled(items)
        kept = [item for item in items if item.get_closest_marker("slow") is None]
        assert len(kept) in run


def test_functions_share_the_cases_between_them(request: pytest.FixtureRequest):
    kept: set[str] = set()
    for name in map("test_{}".format, range(20)):
        items = cases(request, name, 2, 2)
        mark_unsampled(items)
        kept |= {item.name[-3:] for item in items if item.get_closest_marker("slow") is None}
    assert kept == {"[0]", "[1]"}


def test_what_is_not_sampled_stays(request: pytest.FixtureRequest):
    plain = Case.from_parent(request.node.parent, name="test_plain[0]")
    mark_unsampled([plain])
    assert plain.get_closest_marker("slow") is None
