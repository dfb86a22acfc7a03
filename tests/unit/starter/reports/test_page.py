"""The page: whole at any size, safe for any text, its figures those of the session's view."""

import pytest

from starter.reports.page import render
from tests.report_reader import check_figures, check_whole, read_page
from tests.unit.starter.reports.sessions import session
from tests.unit.starter.shown import HOSTILE

ATTACKS = {
    "element": "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "end of an attribute": "\" onload=\"alert(1)\" x='y' onclick='alert(2)",
    "end of an element": "</title></style></pre></text></svg><svg onload=alert(1)>",
    "comment": "<!-- --><!doctype html><meta http-equiv=refresh content='0;url=//x'>",
    "template": "{{ 7 * 7 }}{% raw %}{{ facts.__class__ }}{% endraw %}",
    "entities": "&lt;b&gt; &#60;script&#62; &amp;",
    "terminal": HOSTILE,
}


@pytest.mark.parametrize("tasks", [1, 30, pytest.param(500, marks=pytest.mark.slow)])
def test_a_session_of_any_size_is_one_whole_page(tasks: int) -> None:
    facts = session(tasks)
    page = read_page(render(facts, "blueflame"))
    check_whole(page)
    check_figures(page, facts.view.model_dump(mode="json"))
    assert {f"task-t{number}" for number in range(1, tasks + 1)} <= set(page.all("id"))


@pytest.mark.parametrize("text", ATTACKS.values(), ids=ATTACKS)
def test_foreign_text_is_text_wherever_it_stands(text: str) -> None:
    plain = read_page(render(session(3, "plain"), "blueflame"))
    html = render(session(3, text), "blueflame")
    page = read_page(html)
    check_whole(page)
    # It adds no element and no attribute that the same session without it does not have.
    assert page.tags == plain.tags
    assert page.names <= plain.names
    assert not {"\u202e", "\u001b"} & set(html)


@pytest.mark.parametrize("kind", ["element", "end of an element", "template", "entities"])
def test_what_stands_in_a_text_is_read_in_the_page(kind: str) -> None:
    attack = ATTACKS[kind]
    text = read_page(render(session(1, attack), "blueflame")).text
    for place in (
        f"Fix all. {attack}",
        f"Fix t1 {attack}",
        f"t1 works {attack}",
        f"+new {attack}",
        f"return 1 {attack}",
        f"a notice {attack}",
        f"Approved by ann {attack}",
        f"/home/p/{attack}",
    ):
        assert place in text


def test_a_session_without_a_plan_is_a_page_too() -> None:
    facts = session(1)
    view = facts.view.model_validate(
        {**dict(facts.view), "tasks": (), "changesets": (), "decisions": (), "notices": ()}
    )
    facts.record.plans.clear()
    empty = type(facts)(view, facts.trace, facts.record, facts.at)
    page = read_page(render(empty, "blueflame"))
    check_whole(page)
    check_figures(page, view.model_dump(mode="json"))
    assert "There is no plan yet." in page.text


def test_a_page_names_scripted_models_and_a_missing_sandbox() -> None:
    facts = session(1)
    changed = {"scripted": True, "sandbox": "none"}
    view = facts.view.model_validate({**dict(facts.view), **changed})
    text = read_page(render(type(facts)(view, facts.trace, facts.record, facts.at), "b")).text
    assert "SCRIPTED" in text
    assert "NO SANDBOX" in text
