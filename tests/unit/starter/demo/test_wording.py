"""What the demo says, and when it dares to say that all went well."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from starter.demo import wording
from starter.demo.evidence import Seen
from starter.demo.stage import Stage, SuiteRun
from tests.unit.starter.demo.examples import view
from workflows.domain.budget import Bill
from workflows.domain.ids import ChangesetId, TaskId
from workflows.domain.session.notice import Notice, NoticeKind
from workflows.domain.session.wave_values import Refused, ReturnedChangeset

STAGE = Stage(Path("/d"), Path("/d/orderdesk"), Path("/p.yaml"), "Finish the release")


def refused(by: str, notes: str) -> Refused:
    facts = {"task": "tax", "attempt": 1, "by": by, "notes": notes}
    return Refused.model_validate(facts | {"bill": Bill(scripted=True)})


RETURNED = ReturnedChangeset(
    id=ChangesetId("invoices"),
    task=TaskId("numbers"),
    by="conflict",
    notes="The work conflicts with what was merged\ncontents\nCONFLICT (content): in CHANGELOG.md",
)
SEEN = Seen(
    at_once=4,
    by_gate=(refused("gate", "gate 'unittest' failed: a test; failed on the base already: b"),),
    by_reviewer=(refused("reviewer", "Refunds are not right.\n- tax.py:15 wrong way"),),
    conflicts=(RETURNED,),
    decisions=("approve_plan", "approve_changeset", "approve_changeset"),
)
PROOF = wording.Proof(
    session=view(outcome="complete", live=False, branch="blueflame/s1"),
    seen=SEEN,
    suite=SuiteRun(exit_code=0, tests=34, failed=0),
)


def test_all_that_was_promised_makes_a_whole_proof():
    assert PROOF.is_whole
    assert wording.ending(PROOF, STAGE, 30.4)[1] == "Done in 30 s."


def test_without_a_sandbox_the_demo_says_so():
    first, last = wording.introduction("none"), wording.introduction("required")
    assert any("NONE: commands of agents run unconfined" in line for line in first)
    assert not any("the sandbox, git" in line for line in first)
    assert any("the sandbox, git" in line for line in last)
    bare = replace(PROOF, session=view(outcome="complete", live=False, sandbox="none"))
    assert wording.ending(bare, STAGE, 30)[-1].startswith("Sandbox   NONE")


@pytest.mark.parametrize(
    "lacking",
    [
        replace(PROOF, session=view(outcome="incomplete", live=False)),
        replace(PROOF, session=view()),
        replace(PROOF, suite=None),
        replace(PROOF, suite=SuiteRun(exit_code=1, tests=34, failed=2)),
        replace(PROOF, suite=SuiteRun(exit_code=0, tests=0, failed=0)),
        replace(PROOF, seen=replace(SEEN, at_once=1)),
        replace(PROOF, seen=replace(SEEN, by_gate=())),
        replace(PROOF, seen=replace(SEEN, by_reviewer=())),
        replace(PROOF, seen=replace(SEEN, conflicts=())),
        replace(PROOF, seen=replace(SEEN, decisions=("approve_changeset",))),
        replace(PROOF, seen=replace(SEEN, decisions=("approve_plan",))),
    ],
)
def test_one_thing_that_was_not_seen_spoils_it(lacking: wording.Proof):
    assert [was_seen for was_seen, _ in lacking.findings].count(False) == 1
    assert not lacking.is_whole
    lines = wording.ending(lacking, STAGE, 30)
    assert lines[1] == "NOT all that the demo promises:"
    assert sum(line.startswith("  [ ]") for line in lines) == 1


def test_the_ending_names_what_was_rejected_and_why():
    text = "\n".join(wording.ending(PROOF, STAGE, 30))
    assert (
        "rejected by a gate, then reworked: tax, attempt 1: gate 'unittest' failed: a test" in text
    )
    assert "failed on the base" not in text
    assert "tax, attempt 1: Refunds are not right." in text
    assert "CONFLICT (content): in CHANGELOG.md" in text
    assert "Branch    blueflame/s1 in /d/orderdesk" in text
    assert "Cost      $0.16 (SCRIPTED" in text


def test_a_conflict_is_printed_in_gits_words():
    assert wording.note("numbers", RETURNED.notes) == [
        "CONFLICT  numbers: CONFLICT (content): in CHANGELOG.md"
    ]


def test_a_rejection_is_printed_with_its_findings():
    notes = "attempt 1 was refused by the reviewer: No.\n- tax.py:15 wrong way\n(more)"
    assert wording.note("tax", notes) == [
        "REJECTED  tax, attempt 1 was refused by the reviewer: No.",
        "          - tax.py:15 wrong way",
    ]


def test_notes_without_words_are_still_printed():
    assert wording.note("tax", "") == ["REJECTED  tax,"]


def test_foreign_text_cannot_act_on_the_terminal():
    lines = wording.note("tax", "attempt 1: \x1b[31mred\n- \x1b]0;title\x07")
    assert not any("\x1b" in line for line in lines)


@pytest.mark.parametrize(
    ("subject", "text", "told"),
    [
        ("bubblewrap 0.8.0", "bubblewrap 0.8.0 has a flaw", "bubblewrap 0.8.0 has a flaw"),
        ("tax", "the digest is old", "tax the digest is old"),
        ("", "the cap is near", "the cap is near"),
    ],
)
def test_a_notice_tells_its_subject_once(subject: str, text: str, told: str):
    at = datetime(2026, 11, 27, tzinfo=UTC)
    notice = Notice(kind=NoticeKind.GATE, subject=subject, text=text, first_at=at, last_at=at)
    assert wording.notice(notice) == [wording.step("notice", told)]


def test_names_the_branch_and_the_page_for_a_closer_look():
    lines = wording.look_further(STAGE, "s1", "http://127.0.0.1:8233/s1", "blueflame")
    assert "  git -C /d/orderdesk diff main..blueflame/s1" in lines
    assert any(line.startswith("  BLUEFLAME_DATA_DIR=/d/data blueflame up ") for line in lines)
    assert lines[-1] == "  http://127.0.0.1:8233/s1"
