"""The pictures' places: the timeline's bars and the graph's boxes."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from starter.reports.graph_layout import BOX_HEIGHT, graph
from starter.reports.timeline import WIDTH, clock, timeline
from tests.unit.starter.reports.sessions import session


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, list[str]]:
    """Return a graph without cycles, some of whose dependencies are not in it."""
    names = [f"t{number}" for number in range(draw(st.integers(0, 12)))]
    below = [
        st.lists(st.sampled_from([*names[:n], "away"]), unique=True) for n in range(len(names))
    ]
    return {name: draw(each) for name, each in zip(names, below, strict=True)}


@given(graphs())
def test_a_task_stands_right_of_all_that_it_depends_on_and_no_two_overlap(
    tasks: dict[str, list[str]],
) -> None:
    found = graph(tasks)
    places = {each.task: each for each in found.boxes}
    assert places.keys() == tasks.keys()
    for task, below in tasks.items():
        assert all(places[each].x < places[task].x for each in below if each in tasks)
    assert len({(each.x, each.y) for each in found.boxes}) == len(tasks)
    assert all(each.y + BOX_HEIGHT <= found.height for each in found.boxes)
    assert len(found.edges) == sum(each in tasks for below in tasks.values() for each in below)


def test_a_row_for_each_task_and_each_bar_within_the_picture() -> None:
    picture = timeline(session(3))
    labels = [each.label for each in picture.rows]
    assert labels == ["waits for decisions", "t1", "t2", "t3"]
    bars = [bar for row in picture.rows for bar in row.bars]
    assert all(0 <= bar.x <= WIDTH and bar.width > 0 for bar in bars)
    assert [bar.kind for bar in picture.rows[1].bars] == ["develop", "review", "gates"]
    assert picture.rows[1].bars[0].title == "dev.t1.1: 4.0 s"
    assert picture.ticks[0].x == 0
    assert all(
        one.x < other.x <= WIDTH
        for one, other in zip(picture.ticks, picture.ticks[1:], strict=False)
    )


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-1, "0.0 s"),
        (0.04, "0.0 s"),
        (59.9, "59.9 s"),
        (60, "1 min 00 s"),
        (3_599, "59 min 59 s"),
        (3_600, "1 h 00 min"),
        (90_000, "1 d 01 h"),
    ],
)
def test_a_time_is_read_at_a_glance(seconds: float, words: str) -> None:
    assert clock(timedelta(seconds=seconds)) == words
