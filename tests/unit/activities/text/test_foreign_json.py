"""JSON of another's making: what is not of the expected type counts as absent."""

import pytest

from activities.text.foreign_json import count, is_list, is_table, table, tables, text

OTHERS = [None, True, 1, 1.5, "a", [1], {"a": 1}]


@pytest.mark.parametrize("value", OTHERS)
def test_only_an_object_is_a_table(value: object):
    assert is_table(value) == isinstance(value, dict)
    assert table(value) == (value if isinstance(value, dict) else {})


@pytest.mark.parametrize("value", OTHERS)
def test_only_a_text_is_a_text(value: object):
    assert text(value) == (value if isinstance(value, str) else "")


def test_a_list_holds_its_objects_as_copies():
    inner = {"a": 1}
    (found,) = tables([inner, 1, "a", [inner]])
    assert found == inner
    assert found is not inner
    assert tables("abc") == tables(inner) == []
    assert not is_list("abc")


@pytest.mark.parametrize(
    ("value", "number"), [(3, 3), (0, 0), (-1, 0), (True, 0), (1.5, 0), ("3", 0), (None, 0)]
)
def test_a_count_is_a_whole_number_from_zero_on(value: object, number: int):
    assert count(value) == number
