"""The story: in order, with who decided and why, harmless on a terminal."""

from starter.reports import story_words
from starter.reports.story import story
from tests.unit.starter.reports.sessions import asked, refused, session
from tests.unit.starter.shown import HOSTILE


def test_the_story_is_told_in_order() -> None:
    facts = asked(refused(session(1), "t1", 25, "no test"), "t1", 22, "which one?")
    lines = list(story_words.lines(story(facts)))
    assert lines == [
        "2026-11-27 (UTC)",
        "  09:00:00  session   started",
        "                      Fix all.",
        "  09:00:08  plan      the planner submitted a plan of 1 task, by planner",
        "                      a plan",
        "  09:00:12  decision  approve plan, by ann@desk, after 4.0 s of waiting",
        "  09:00:22  question  t1: an agent asked, by dev.t1.1",
        "                      which one?",
        "  09:00:25  task      t1: attempt 1 was refused by the reviewer",
        "                      no test",
        "  09:00:28  task      t1: attempt 1 was validated; judged by tests, by scripted/beta",
        "  09:00:29  decision  t1: approve changeset, by ann@desk, after 1.0 s of waiting",
        "  09:00:29  merge     t1: merged as cccccccccccc",
        "  09:00:30  notice    t1: gate (3 times)",
        "                      a notice",
        "  09:01:10  session   ended complete: 1 merged, $0.03",
    ]


def test_foreign_text_has_no_effect_on_a_terminal() -> None:
    told = "\n".join(story_words.lines(story(session(2, HOSTILE))))
    assert "\u001b" not in told
    assert "\u202e" not in told
    assert "<script>" in told


def test_a_long_reason_is_cut() -> None:
    events = story(refused(session(1), "t1", 25, "x" * 5_000))
    assert max(len(each.why) for each in events) == 500
