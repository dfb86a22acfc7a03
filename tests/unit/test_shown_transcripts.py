"""Transcripts in docs/ beside the words of the code that prints them; docs/delivery.md has its own.

What a whole session prints is compared where tests run one (`tests.documented`).
"""

from datetime import UTC, datetime
from typing import Any

import pytest

from starter.commands.operating.schedule_command import lines
from starter.sessions.schedules import ShownSchedule
from starter.views import session_words
from tests.documented import answers, unshown
from tests.unit.policy.decision import test_reverting as reverting
from tests.unit.policy.decision import test_rewinding as rewinding
from tests.unit.policy.session.test_rework import A
from tests.unit.policy.session.test_rework import session as rework_session
from workflows.domain.ids import SessionId
from workflows.domain.task import TaskState

SHOWN = {
    "reviewing": ("plan edit", "diff", "approve", "reject", "rewind", "revert"),
    "reports": ("report", "history", "history --events", "export"),
    "delivery": ("fast-forward", "rework"),
    "nightly": (*(f"schedule {name}" for name in ("add", "list", "trigger", "pause", "remove")),),
    "notifications": ("notify", "notify --test"),
}
SESSION = SessionId("01m8mkncfaz8ezhtphsg7j0m3r")
AT = datetime(2026, 11, 30, 1, tzinfo=UTC)
GOAL = "Finish release 0.2 of the order desk: digits of currencies, amounts, volume discounts"


@pytest.mark.parametrize("page", SHOWN)
def test_each_command_of_a_page_is_shown_with_what_it_prints(page: str) -> None:
    assert unshown(page, "nothing prints this") == ["nothing prints this"]
    silent = [each for each in SHOWN[page] if not answers(page, f"$ blueflame {each}")]
    assert silent == []


@pytest.mark.parametrize(
    "changes",
    [
        {"last_at": None},
        {"last": "started", "last_session": SESSION},
        {"paused": True, "next_at": None, "last": "started", "last_session": SESSION},
        {
            "name": "tidy",
            "time_zone": "UTC",
            "goal": "the open issues with the label 'agents'",
            "last": "queued",
            "last_reason": "1 new, 1 known before",
        },
    ],
)
def test_a_schedule_in_the_list(changes: dict[str, Any]) -> None:
    values: dict[str, Any] = {
        "name": "order-desk",
        "cron": "0 2 * * 1-5",
        "time_zone": "Europe/Berlin",
        "goal": GOAL,
        "skipped_overlaps": 0,
        "repository": "/r",
        "paused": False,
        "next_at": AT,
        "last_at": AT,
    }
    shown = ShownSchedule.model_validate({**values, **changes})
    assert unshown("nightly", "\n".join(lines([shown]))) == []


def test_what_rewind_and_revert_print_and_what_the_next_attempt_is_told() -> None:
    failed = rework_session(TaskState.FAILED)
    rewound = rewinding.rewound(failed, turn=1, notes="that was enough").state.records[A]
    back = reverting.reverted(reverting.session(b=TaskState.VALIDATED)).told.partition(", c")[0]
    told = [
        *session_words.told("rewind task guide to turn 1", SESSION),
        *session_words.told("revert task note", SESSION),
        f"  {rewound.notes[-1]}",
        back.replace("-a'", "-note'").replace("'a'", "'note'").replace("b (", "list ("),
    ]
    assert unshown("reviewing", "\n".join(told)) == []
