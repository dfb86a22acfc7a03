"""`starter.views.plan_words`: a plan as a graph of text, and a task's record."""

from typing import Any

from starter.views import plan_words
from tests.unit.starter.shown import HOSTILE
from workflows.domain.agent.agent_settings import AgentSettings
from workflows.domain.gate import Judgement
from workflows.domain.plan import Plan, Task
from workflows.domain.task import TaskRecord, TaskState


def task(name: str, *after: str, **more: Any) -> Task:
    facts = {"title": f"Fix {name}", "acceptance_criteria": ["tests pass"], "claims": ["src"]}
    return Task.model_validate({"id": name, "depends_on": after, **facts, **more})


def test_a_plan_is_shown_in_the_order_of_its_dependencies() -> None:
    lexer = task("lexer", "base", group="front", claims=["src/lexer.py", "tests"])
    whole = Plan(summary="Two steps.", tasks=(lexer, task("base", risk="high")))
    assert plan_words.plan(whole, AgentSettings()) == [
        "  Two steps.",
        "",
        "  *  base  Fix base (code, risk high)",
        "       writes src",
        "       - tests pass",
        "    +- lexer  Fix lexer (code, after base, with group front)",
        "         writes src/lexer.py, tests",
        "         - tests pass",
        "",
        "  At most $16.00 for one attempt at each of 2 tasks",
    ]


def test_a_part_of_a_plan_is_shown_too() -> None:
    assert plan_words.tasks([task("b", "a")])[0] == "  *  b  Fix b (code, after a)"


def test_a_task_is_shown_with_all_its_texts_and_escapes_are_visible() -> None:
    record = TaskRecord(
        task=task("a", title=HOSTILE, description="First.\nSecond."),
        state=TaskState.FAILED,
        reason="gates are red",
        attempt=2,
        notes=("pytest failed:\n  one test", "a person says: \u001b[2J"),
    )
    lines = plan_words.record(record)
    assert "State      failed (gates are red)" in lines
    assert "Attempt    2 of 3 allowed" in lines
    marked = plan_words.record(record, ["Sandbox    NONE"])
    at = lines.index("Description") - 1
    assert marked == [*lines[:at], "Sandbox    NONE", *lines[at:]]
    assert lines[lines.index("Description") :][:3] == ["Description", "  First.", "  Second."]
    assert lines[-3:] == ["  pytest failed:", "    one test", "  a person says: \\x1b[2J"]
    assert not any("\u001b" in line or "\u202e" in line for line in lines)


def test_a_task_says_which_gates_judged_it_and_which_tests_it_weakens() -> None:
    record = TaskRecord(task=task("a"), state=TaskState.VALIDATED)
    assert not any(line.startswith("Gates") for line in plan_words.record(record))
    half = Judgement(by=("lint",), nothing=("tests: timed out",))
    weak = record.model_copy(update={"judgement": half, "weakened": ("test_a.py: deleted",)})
    lines = plan_words.record(weak)
    assert "Gates      judged by: lint (less: tests: timed out)" in lines
    assert "Tests      test_a.py: deleted" in lines
    bare = record.model_copy(update={"judgement": Judgement()})
    assert "Gates      not judged: no gates" in plan_words.record(bare)
