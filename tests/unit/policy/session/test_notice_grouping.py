"""Notices are grouped, cut and bounded."""

from datetime import UTC, datetime, timedelta

from workflows.domain.session.notice import Notice, NoticeKind
from workflows.policy.session import notice_grouping

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def later(minutes: int) -> datetime:
    return NOON + timedelta(minutes=minutes)


def test_repeated_ones_are_one_line_with_a_count_and_the_newest_text() -> None:
    kept: tuple[Notice, ...] = ()
    kept = notice_grouping.add(kept, NoticeKind.STALE_APPROVAL, "a", "first", NOON)
    kept = notice_grouping.add(kept, NoticeKind.STALE_APPROVAL, "b", "other", later(1))
    kept = notice_grouping.add(kept, NoticeKind.STALE_APPROVAL, "a", "second", later(2))
    assert [(each.subject, each.text, each.count) for each in kept] == [
        ("b", "other", 1),
        ("a", "second", 2),
    ]
    assert (kept[1].first_at, kept[1].last_at) == (NOON, later(2))


def test_another_kind_of_the_same_subject_is_another_line() -> None:
    kept = notice_grouping.add((), NoticeKind.GATE, "a", "x", NOON)
    assert len(notice_grouping.add(kept, NoticeKind.PROVIDER, "a", "x", NOON)) == 2


def test_a_long_text_is_cut() -> None:
    (notice,) = notice_grouping.add((), NoticeKind.GATE, "", "x" * 5_000, NOON)
    assert len(notice.text) == 1_000


def test_the_oldest_is_dropped_beyond_a_hundred() -> None:
    kept: tuple[Notice, ...] = ()
    for number in range(notice_grouping.MOST + 5):
        kept = notice_grouping.add(kept, NoticeKind.GATE, str(number), "x", later(number))
    assert [each.subject for each in kept] == [str(n) for n in range(5, notice_grouping.MOST + 5)]
