"""Plans that cannot be carried out: one message names the thing and says what to do.

The same words reach the planner, who submits, and the person, who replaces a plan.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from unicodedata import normalize

import pytest
from pydantic import JsonValue

from workflows.domain.agent.model_values import Role
from workflows.domain.session.notice import NoticeKind
from workflows.domain.session.session_config import Routes, SessionConfig
from workflows.domain.session.session_modes import SessionPhase
from workflows.domain.session.session_state import SessionState
from workflows.policy.agent import submission_check
from workflows.policy.decision import decisions
from workflows.policy.plan.plan_check import read_plan

AT = datetime(2026, 1, 1, tzinfo=UTC)
ROUTE = ("scripted/author",)
CONFIG = SessionConfig(routes=Routes(planner=ROUTE, developer=ROUTE, reviewer=ROUTE))
WAITS = SessionState(started_at=AT, cap_usd=Decimal(10), phase=SessionPhase.AWAITING_PLAN)


def task(name: Any = "a", **fields: Any) -> Any:
    """A good task, but for the fields that are given."""
    usual = {
        "id": name,
        "title": "t",
        "acceptance_criteria": ["x"],
        "claims": ["only/" + str(name)[:9]],
    }
    return {**usual, **fields}


def _many(count: int, **fields: Any) -> list[Any]:
    return [task(f"t{n}", **fields) for n in range(count)]


def _pair(first: dict[str, Any], second: dict[str, Any]) -> list[Any]:
    return [task("a", **first), task("b", **second)]


def _nested(depth: int) -> JsonValue:
    value: JsonValue = []
    for _ in range(depth):
        value = [value]
    return value


ID = "must be of at most 63 lower-case letters, digits and hyphens"
ROOT = "write it from the root"

REFUSED: dict[str, tuple[JsonValue, str, str]] = {
    # The graph.
    "a cycle": (_pair({"depends_on": ["b"]}, {"depends_on": ["a"]}), "a→b→a", "drop one"),
    "a long cycle": (
        [task(f"t{n}", depends_on=[f"t{(n + 1) % 1000}"]) for n in range(1000)],
        "t0→t1→",
        "drop one",
    ),
    "itself": ([task(depends_on=["a"])], "a→a", "drop one"),
    "an unknown dependency": ([task(depends_on=["zz"])], "depends on 'zz'", "drop the dependency"),
    "a duplicate id": ([task(), task()], "task 'a' is there more than once", "an id of its own"),
    "ids that differ in case": ([task("a"), task("A")], "tasks[1].id", ID),
    "overlap in a group": (
        _pair({"group": "g", "claims": ["src"]}, {"group": "g", "claims": ["src/x"]}),
        "'a' and 'b' of group 'g'",
        "let one depend on the other",
    ),
    "overlap by case in a group": (
        _pair({"group": "g", "claims": ["SRC/x"]}, {"group": "g", "claims": ["src/X"]}),
        "'a' and 'b' of group 'g'",
        "separate the claims",
    ),
    "groups that wait for each other": (
        [task("a", group="g"), task("b", depends_on=["a"]), task("c", group="g", depends_on=["b"])],
        "changesets g→b→g",
        "regroup",
    ),
    "a group with another's name": (_pair({}, {"group": "a"}), "group 'a'", "rename the group"),
    "a group of 51": (_many(51, group="g"), "group 'g' has 51 tasks", "part it"),
    # How much.
    "no tasks": ([], "tasks", "must have at least 1 item"),
    "10,000 tasks": (_many(10_000), "tasks", "at most 1000 items, not 10000"),
    "50,000 claims": (
        _many(1_000, claims=[f"f{n}" for n in range(50)]),
        "the plan has 50000 claims",
        "claim folders",
    ),
    "a group of 251 claims": (
        [task(f"t{n}", group="g", claims=[f"f{n}x{k}" for k in range(50)]) for n in range(6)],
        "group 'g' has 300 claims",
        "claim folders",
    ),
    "21 criteria": ([task(acceptance_criteria=["x"] * 21)], "acceptance_criteria", "at most 20"),
    "51 claims": ([task(claims=["x"] * 51)], "tasks[0].claims", "at most 50"),
    "101 dependencies": ([task(depends_on=["b"] * 101)], "tasks[0].depends_on", "at most 100"),
    "a title of a page": ([task(title="x" * 2_001)], ".title", "at most 2000 characters"),
    "a description of a book": ([task(description="x" * 10_001)], ".description", "at most 10000"),
    "a criterion of a page": (
        [task(acceptance_criteria=["x" * 2_001])],
        "tasks[0].acceptance_criteria[0]",
        "at most 2000 characters",
    ),
    "a claim of 201": ([task(claims=["x" * 201])], "tasks[0].claims[0]", "at most 200 characters"),
    # Ids.
    "an empty id": ([task("")], "tasks[0].id", ID),
    "an id of 300": ([task("x" * 300)], "tasks[0].id", ID),
    "an id with a slash": ([task("a/b")], "tasks[0].id", ID),
    "an id that leads up": ([task("../x")], "tasks[0].id", ID),
    "an id with an end of line": ([task("a\n")], "tasks[0].id", ID),
    "an id with a NUL": ([task("a\0")], "tasks[0].id", ID),
    "an id like an option": ([task("-a")], "tasks[0].id", "not begin with a hyphen"),
    "an id in Cyrillic": ([task("\u0430")], "tasks[0].id", ID),
    "an id with the Kelvin sign": ([task("\u212a")], "tasks[0].id", ID),
    "an id of wide letters": ([task("\uff41")], "tasks[0].id", ID),
    "an id with a zero width": ([task("a\u200b")], "tasks[0].id", ID),
    "an id that is a number": ([task(7)], "tasks[0].id", "must be a valid string"),
    "a dependency of the wrong form": ([task(depends_on=["A"])], "tasks[0].depends_on[0]", ID),
    "a group of the wrong form": ([task(group="G!")], "tasks[0].group", ID),
    # Claims.
    "an empty claim": ([task(claims=[""])], "tasks[0].claims[0]", "at least 1 character"),
    "a blank claim": ([task(claims=["  "])], "tasks[0].claims[0]", "at least 1 character"),
    "no claims": ([task(claims=[])], "tasks[0].claims", "at least 1 item"),
    "an absolute claim": ([task(claims=["/etc/**"])], "'/etc/**'", "the repository's root"),
    "a claim at home": ([task(claims=["~/x"])], "'~/x'", "the repository's root"),
    "a claim with a drive": ([task(claims=["C:/x"])], "'C:/x'", "the repository's root"),
    "a claim above": ([task(claims=["../**"])], "'../**'", ROOT),
    "a claim through above": ([task(claims=["a/../../b"])], "'a/../../b'", ROOT),
    "a claim from here": ([task(claims=["./a"])], "'./a'", ROOT),
    "a claim by backslashes": ([task(claims=["a\\b"])], "backslash", "segments with /"),
    "a claim with two slashes": ([task(claims=["a//b"])], "'a//b'", "write one slash"),
    "a claim of .git": ([task(claims=["x/.GIT/hooks"])], "names .git", "drop it"),
    "a claim that excludes": ([task(claims=["!src"])], "'!src'", "name what the task may write"),
    "a claim with braces": ([task(claims=["{a,b}.py"])], "braces", "one claim for each path"),
    "a claim with stars that touch": ([task(claims=["a**"])], "'a**'", "as in src/**"),
    "a claim with a huge range": ([task(claims=["[a-\uffff]"])], "huge range", "use ?"),
    "a claim that turns the writing": ([task(claims=["a\u202eb"])], "'a\\u202eb'", "leave it out"),
    "a claim with a zero width": ([task(claims=["a\u200bb"])], "'a\\u200bb'", "leave it out"),
    "a claim with a NUL": ([task(claims=["a\0b"])], "'a\\x00b'", "leave it out"),
    "a decomposed claim": ([task(claims=[normalize("NFD", "é")])], "form C", "write it composed"),
    # Texts.
    "no criteria": ([task(acceptance_criteria=[])], ".acceptance_criteria", "at least 1 item"),
    "an empty criterion": ([task(acceptance_criteria=[""])], "criteria[0]", "at least 1 character"),
    "a blank criterion": (
        [task(acceptance_criteria=["x", " \n\t"])],
        "task 'a', acceptance criterion 2",
        "write some text",
    ),
    "an empty title": ([task(title=" ")], "tasks[0].title", "at least 1 character"),
    "a title of zero widths": ([task(title="\u200b\u200d")], "task 'a', title", "write some text"),
    "a title of fillers": ([task(title="\u3164\u2800")], "task 'a', title", "write some text"),
    "a title of two lines": ([task(title="a\nGate: ok")], "more than one line", "write one"),
    "a title with an escape": ([task(title="\x1b[2Jx")], "title: it holds U+001B", "leave it out"),
    "a title with a bell": ([task(title="x\x07y")], "title: it holds U+0007", "leave it out"),
    "a title that turns": ([task(title="x\u202ey")], "RIGHT-TO-LEFT OVERRIDE", "leave it out"),
    "a title with a BOM": ([task(title="x\ufeffy")], "title: it holds U+FEFF", "leave it out"),
    "a title with a line separator": ([task(title="x\u2028y")], "U+2028", "leave it out"),
    "a description with hidden words": (
        [task(description="x\U000e0068\U000e0069")],
        "description: it holds U+E0068",
        "leave it out",
    ),
    "a criterion with an escape": (
        [task(acceptance_criteria=["x\x9b31m"])],
        "acceptance criterion 1: it holds U+009B",
        "leave it out",
    ),
    "half an emoji": ([task(title="x\ud83d")], "tasks[0].title", "must be a valid string"),
    # Types.
    "tasks in a text": ("[]", "tasks", "must be a list"),
    "tasks by name": ({"a": task()}, "tasks", "must be a list"),
    "tasks that are missing": (None, "tasks", "must be a list"),
    "a task that is a text": (["a"], "tasks[0]", "must be an object"),
    "a task that is nothing": ([None], "tasks[0]", "must be an object"),
    "100,000 lists in lists": (_nested(100_000), "tasks[0]", "must be an object"),
    "claims in a text": ([task(claims="a")], "tasks[0].claims", "must be a list"),
    "a dependency in a text": ([task(depends_on="b")], "tasks[0].depends_on", "must be a list"),
    "a title that is an object": ([task(title={})], "tasks[0].title", "must be a valid string"),
    "a kind that is none": ([task(kind="magic")], "tasks[0].kind", "must be 'code', 'tests'"),
    "a risk that is a number": ([task(risk=3)], "tasks[0].risk", "must be 'low', 'medium'"),
    "a priority of 1e400": ([task(priority=10**400)], ".priority", "less than or equal to 100"),
    "a priority that is none": ([task(priority=float("nan"))], ".priority", "a finite number"),
    "a field of no task": ([task(model="x")], "tasks[0].model", "is not a field here"),
    "a task without a title": (
        [{"id": "a", "acceptance_criteria": ["x"], "claims": ["a"]}],
        "tasks[0].title",
        "is missing",
    ),
}
"""By name: the tasks, what the message names, and what it says to do."""

TAKEN: dict[str, list[Any]] = {
    "everything claimed": [task(claims=["**"])],
    "a thousand tasks": _many(1_000),
    "a thousand in a row": [
        task(f"t{n}", depends_on=[f"t{n - 1}"] if n else []) for n in range(1_000)
    ],
    "a hundred dependencies each": [
        task(f"t{n}", depends_on=[f"t{k}" for k in range(max(n - 100, 0), n)]) for n in range(1_000)
    ],
    "full groups that share a folder": [
        task(f"t{n}", group=f"g{n // 50}", claims=[f"src/{n}x{k}.py" for k in range(5)])
        for n in range(1_000)
    ],
    "a dependency named twice": _pair({}, {"depends_on": ["a", "a"]}),
    "overlap outside of groups": _pair({"claims": ["src"]}, {"claims": ["src/x"]}),
    "paths that only look alike": _pair(
        {"claims": ["a.py"], "group": "g"}, {"claims": ["\u0430.py"], "group": "g"}
    ),
    "any language": [
        task(title="Zähle مرحبا 日本\u3000語 हिन्दी 👩\u200d💻 ✓ [/red] <b> `x` | $(y)")
    ],
    "lines and indents": [
        task(description="a\r\n\tb\n", acceptance_criteria=["one\ntwo"], title=" x ")
    ],
    "a title of 500": [task(title="x" * 500)],
    "a decomposed title": [task(title=normalize("NFD", "é"))],
    "an id of 63": [task("x" * 63)],
    "ids like numbers": [task("1"), task("01")],
    "names of devices": [task("con"), task("nul"), task("head")],
}
"""By name: tasks that look odd and are good."""


def _to_the_planner(tasks: JsonValue) -> str:
    return submission_check.fault(Role.PLANNER, {"tasks": tasks}) or ""


def _to_the_person(tasks: Any) -> str:
    payload: JsonValue = {"plan": {"tasks": tasks}}
    applied = decisions.apply(
        WAITS, CONFIG, decisions.Sent(name="replace_plan", payload=payload), AT
    )
    assert applied.state.plan is None
    assert not applied.state.is_plan_approved
    (notice,) = applied.state.notices
    assert notice.kind in {NoticeKind.BAD_SIGNAL, NoticeKind.NOT_POSSIBLE}
    return notice.text


@pytest.mark.sampled(5)
@pytest.mark.parametrize("way", [_to_the_planner, _to_the_person])
@pytest.mark.parametrize("case", REFUSED)
def test_a_plan_is_refused_in_one_message(case: str, way: Callable[[JsonValue], str]):
    """Field report R56."""
    tasks, what, remedy = REFUSED[case]
    message = way(tasks)
    (line,) = [line for line in message.splitlines() if what in line]
    assert remedy in line
    assert len(line) <= 1_000
    assert line.isprintable()


@pytest.mark.sampled(5)
@pytest.mark.parametrize("case", TAKEN)
def test_a_plan_that_only_looks_odd_is_taken(case: str):
    """Field report R56."""
    assert _to_the_planner(TAKEN[case]) == ""


def test_a_summary_with_an_escape_is_refused():
    (fault,) = read_plan({"summary": "x\x1b[2J", "tasks": [task()]})
    assert "summary: it holds U+001B" in str(fault)


def test_a_notice_names_three_faults_and_counts_the_rest():
    message = _to_the_person([task(f"t{n}", depends_on=[f"t{n}"]) for n in range(10)])
    assert message.endswith("; and 7 faults more")
    message = _to_the_person([{"id": "A"}] * 10)
    assert message.endswith("; and 38 faults more of this kind")
