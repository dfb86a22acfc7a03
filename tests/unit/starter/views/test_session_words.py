"""`starter.views.session_words`: what a person reads, word for word."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from starter.sessions.open_questions import ChangesetAsk, PlanAsk
from starter.sessions.shown_session import ProviderWait
from starter.views import safety_labels, session_words, work_words
from tests.unit.starter.shown import DIGEST, HOSTILE, changeset, pull, session, task
from workflows.domain.ids import ChangesetId, Digest, SessionId
from workflows.domain.session.notice import Notice, NoticeKind
from workflows.domain.session.session_config import Routes, SessionConfig
from workflows.domain.session.session_modes import SessionPhase
from workflows.domain.session.session_start import SessionRequest
from workflows.domain.task import TaskState

NOW = datetime(2026, 11, 27, 12, 0, tzinfo=UTC)


def _lines(text: str) -> list[str]:
    return text.strip("\n").split("\n")


def test_status_shows_the_complete_session() -> None:
    shown = session(
        tasks=(
            task("parser", TaskState.MERGED, attempt=1),
            task("lexer", TaskState.DEVELOPING, attempt=2, reason="gate pytest failed"),
        ),
        changesets=(changeset("parser", "merged"), changeset("lexer", "collecting", None)),
        notices=(
            Notice(
                kind=NoticeKind.STALE_APPROVAL,
                subject="lexer",
                text="the digest is old",
                first_at=NOW,
                last_at=NOW,
                count=3,
            ),
        ),
    )
    assert session_words.status(shown, "blueflame") == _lines("""
Session    01m8fq2y3hnxcqs838w6qy9739
State      running
Goal       Fix the parser
Repository /home/p/repo
Branch     (nothing delivered yet)
Spent      $1.23 of $10.00
Pacing     wave, cycle 2
Sandbox    bubblewrap 0.8.0

Tasks
1 merged, 1 developing
  merged      parser             Fix parser
  developing  lexer (attempt 2)  Fix lexer: gate pytest failed

Changesets
  merged      parser 0123456789ab  (parser)
  collecting  lexer                (lexer)

Notices
  stale approval lexer: the digest is old (3 times)
""")


def test_a_plan_that_waits_names_the_commands() -> None:
    shown = session(phase=SessionPhase.AWAITING_PLAN, tasks=(task("a"),))
    assert session_words.asks(shown, "blueflame") == _lines("""
  blueflame approve plan --session 01m8fq2y3hnxcqs838w6qy9739
  blueflame reject plan --notes "..." --session 01m8fq2y3hnxcqs838w6qy9739
""")


def test_a_changeset_that_waits_is_approved_by_its_digest() -> None:
    shown = session(changesets=(changeset("c1", "awaiting_approval"),))
    assert session_words.asks(shown, "blueflame") == [
        "  blueflame diff c1 --session 01m8fq2y3hnxcqs838w6qy9739",
        f"  blueflame approve c1 --digest {DIGEST} --session 01m8fq2y3hnxcqs838w6qy9739",
        '  blueflame reject c1 --notes "..." --session 01m8fq2y3hnxcqs838w6qy9739',
    ]


def test_a_paused_session_says_how_to_resume_it() -> None:
    shown = session(phase=SessionPhase.PAUSED, reason="the cap is reached")
    assert session_words.state(shown) == "paused (the cap is reached)"
    assert session_words.asks(shown, "blueflame") == [
        "  blueflame resume 01m8fq2y3hnxcqs838w6qy9739"
    ]


def test_at_the_cap_a_higher_one_is_named_first() -> None:
    text = "the cap of $2 conflicts with a further call"
    told = Notice(kind=NoticeKind.CAP_REACHED, subject="", text=text, first_at=NOW, last_at=NOW)
    shown = session(phase=SessionPhase.PAUSED, reason=text, notices=(told,))
    assert session_words.asks(shown, "blueflame") == [
        "  blueflame budget USD --session 01m8fq2y3hnxcqs838w6qy9739",
        "  blueflame resume 01m8fq2y3hnxcqs838w6qy9739",
    ]


def test_without_a_worker_nothing_is_claimed() -> None:
    shown = session(live=False, phase=SessionPhase.PREPARING, reason="no worker answers")
    assert session_words.state(shown) == "open (no worker answers)"


def test_every_view_names_a_missing_sandbox_and_a_scripted_model() -> None:
    shown = session(sandbox="none", scripted=True, outcome="complete")
    for lines in (
        session_words.header(shown),
        session_words.ending(shown, "blueflame"),
        safety_labels.of(shown),
    ):
        text = "\n".join(lines)
        assert "NONE: commands of agents run unconfined" in text
        assert "SCRIPTED: a playbook speaks, no real model" in text


def test_a_session_with_sandbox_and_real_models_has_no_marks() -> None:
    assert safety_labels.of(session()) == []


def test_the_end_says_where_to_look() -> None:
    shown = session(
        outcome="complete",
        phase=SessionPhase.ENDED,
        live=False,
        branch="blueflame/x",
        tasks=(task("a", TaskState.MERGED),),
    )
    assert session_words.ending(shown, "blueflame") == [
        "",
        *_lines("""
Session 01m8fq2y3hnxcqs838w6qy9739: complete
Tasks      1 merged
Spent      $1.23
Branch     blueflame/x in /home/p/repo
           git log -p HEAD..blueflame/x
           blueflame fast-forward 01m8fq2y3hnxcqs838w6qy9739 --repo /home/p/repo
Details    blueflame status 01m8fq2y3hnxcqs838w6qy9739
"""),
    ]


def test_a_sum_with_estimates_in_it_is_marked() -> None:
    lines = session_words.status(session(is_estimated=True), "blueflame")
    words = "$1.23 of $10.00 (partly estimated: a provider counted no tokens)"
    assert f"Spent      {words}" in lines
    assert "estimated" in "".join(session_words.ending(session(is_estimated=True, live=False), "x"))
    assert not any("estimated" in line for line in session_words.status(session(), "blueflame"))


def test_a_waiting_plan_is_named_once_with_a_reason_if_there_is_one() -> None:
    waits = session(phase=SessionPhase.AWAITING_PLAN, reason="waits for approval of the plan")
    with_plan = waits.model_copy(update={"tasks": (task("a"),)})
    assert session_words.state(with_plan) == "the plan waits for your approval"
    none = waits.model_copy(update={"reason": "the planner gave up"})
    assert session_words.state(none) == "the plan waits for your approval (the planner gave up)"


def test_only_changes_are_printed_again() -> None:
    before = session(tasks=(task("a"), task("b")))
    after = session(tasks=(task("a", TaskState.DEVELOPING, attempt=1), task("b")))
    assert session_words.changes(before, after) == ["  developing  a  Fix a"]
    assert session_words.changes(after, after) == []


def test_a_pull_request_is_printed_when_it_changes() -> None:
    first, second = (session(pulls=(pull(1, asked=asked),)) for asked in (0, 2))
    line = "  pull request #1 open{}  https://github.com/acme/shop/pull/1"
    assert session_words.changes(session(), first) == [line.format("")]
    assert session_words.changes(first, second) == [line.format(", 2 to fix")]
    assert session_words.changes(second, second) == []
    assert line.format(", 2 to fix") in session_words.changes(None, second)


def test_safety_labels_are_printed_only_when_they_change() -> None:
    before = session(sandbox="")
    after = session(sandbox="none", scripted=True)
    assert session_words.changes(before, after) == safety_labels.of(after)
    assert session_words.changes(after, after) == []


def test_the_first_look_tells_everything() -> None:
    told = session_words.changes(None, session(tasks=(task("a"),)))
    assert told[0] == "Session    01m8fq2y3hnxcqs838w6qy9739"
    assert told[-1] == "Tasks      1 pending"


def test_a_dry_run_shows_what_would_be_sent() -> None:
    routes = Routes(
        planner=("anthropic/a",), developer=("anthropic/b", "openai/c"), reviewer=("google/d",)
    )
    request = SessionRequest(
        session=SessionId("s"), goal="Fix it", repository="/r", config=SessionConfig(routes=routes)
    )
    assert session_words.dry_run(
        request, "main", {"pacing": "default", "gates": "flags"}, ["pytest (pytest -q)"]
    ) == (
        _lines("""
Dry run: nothing was started, nothing was sent, cost $0.00
Goal       Fix it
Repository /r
Base       main
Pacing     wave
Caps       warns at $2.00, stops at $10.00, at most $1.00 a minute
Approvals  plan ask, changesets ask
Sandbox    required
Gates      pytest (pytest -q)
Planner    anthropic/a
Developer  anthropic/b, openai/c
Reviewer   google/d
  gates from flags
""")
    )


def test_scripted_routes_are_named_in_a_dry_run() -> None:
    scripted = ("scripted/author",)
    routes = Routes(planner=scripted, developer=scripted, reviewer=("scripted/reviewer",))
    assert session_words.routes(SessionConfig(routes=routes))[-1].endswith(safety_labels.SCRIPTED)


def test_decisions_name_their_subject() -> None:
    ask = ChangesetAsk(ChangesetId("c1"), Digest(DIGEST))
    assert session_words.decided("approved", ask, "s") == [
        "approved: changeset c1 (0123456789ab) of session s"
    ]
    assert session_words.decided("sent back", PlanAsk(), "s") == [
        "sent back: the plan of session s"
    ]


def test_hostile_titles_are_literal_everywhere() -> None:
    """Field report R58."""
    shown = session(
        goal=HOSTILE,
        reason=HOSTILE,
        repository=HOSTILE,
        tasks=(task("a", title=HOSTILE[:48], reason=HOSTILE[:60]),),
    )
    text = "\n".join(session_words.status(shown, "blueflame"))
    assert "[/red] [link=x]y[/link] \\x1b[2J \u2713 \\u202e <script>" in text
    assert "\u001b" not in text
    assert "\u202e" not in text


@given(st.text(max_size=48))
def test_no_title_can_make_a_second_line_or_act_on_the_terminal(title: str) -> None:
    line = work_words.task_line(task("a", title=title))
    assert "\n" not in line
    assert "\r" not in line
    assert not any(ord(c) < 32 or 127 <= ord(c) < 160 for c in line)


def test_colours_carry_nothing_alone() -> None:
    for line in session_words.status(session(tasks=(task("a", TaskState.FAILED),)), "blueflame"):
        assert isinstance(session_words.style(line), str)
    assert session_words.style("  failed      a  Fix a") == "red"
    assert session_words.style(f"Sandbox    {safety_labels.NO_SANDBOX}") == "bold red"


@pytest.mark.parametrize(
    ("facts", "word"),
    [
        ({"phase": SessionPhase.PLANNING}, "planning"),
        ({"phase": SessionPhase.AWAITING_PLAN}, "waiting"),
        ({"changesets": (changeset("a", "awaiting_approval"),)}, "waiting"),
        ({"tasks": (task("a", TaskState.FAILED),), "reason": "nothing to do"}, "waiting"),
        ({"phase": SessionPhase.PAUSED, "reason": "paused by a person"}, "paused"),
        ({"live": False}, "open"),
        ({"live": False, "outcome": "stopped"}, "stopped"),
    ],
)
def test_one_word_names_the_state_of_a_session(facts: dict[str, Any], word: str) -> None:
    assert session_words.word(session(**facts)) == word


def test_a_call_that_failed_here_does_not_blame_a_provider() -> None:
    wait = ProviderWait(agent="dev.a.1", model="", until=NOW, reason="No space left on device")
    line = "  dev.a.1 calls its model again at 2026-11-27 12:00:00 UTC: No space left on device"
    assert session_words.wait_line(wait) == line


def test_unjudged_work_is_named_before_and_after_a_decision() -> None:
    line = changeset("a", "awaiting_approval").model_copy(update={"not_judged": "no gates"})
    waits = session(changesets=(line,))
    assert "  a: not judged: no gates" in session_words.asks(waits, "blueflame")
    ask = ChangesetAsk(line.id, Digest(DIGEST))
    assert session_words.judged_note(waits, ask) == ["Gates      not judged: no gates"]
    assert session_words.judged_note(waits, PlanAsk()) == []


def test_unreviewed_work_is_named_with_the_retry_command() -> None:
    facts = {"judged_by": ("tests",), "not_reviewed": "t1: m/x: silence"}
    line = changeset("a", "awaiting_approval").model_copy(update=facts)
    waits = session(changesets=(line,))
    asked = session_words.asks(waits, "blueflame")
    assert "  a: no reviewer gave a verdict: t1: m/x: silence" in asked
    assert f"  blueflame retry --review t1 --session {waits.session}" in asked
    assert session_words.judged_note(waits, ChangesetAsk(line.id, Digest(DIGEST))) == [
        "Gates      judged by: tests",
        "Review     no reviewer gave a verdict: t1: m/x: silence",
    ]


def test_the_end_names_the_gates_that_judged_each_changeset() -> None:
    lines = [
        changeset(f"c{number:02}", "merged").model_copy(update={"judged_by": ("tests",)})
        for number in range(12)
    ]
    told = session_words.judged_lines(session(changesets=tuple(lines)))
    assert told[0] == "Gates      c00 judged by: tests"
    assert told[1] == "           c01 judged by: tests"
    assert (len(told), told[-1]) == (11, "           and 2 more changesets: see `status`")
