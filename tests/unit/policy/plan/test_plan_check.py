"""Plans: every fault is named, and changesets come in dependency order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from tests.effort import examples
from tests.unit.policy.examples import a_plan, a_task
from workflows.domain.agent.model_values import Role
from workflows.domain.plan import Plan, PlanFault
from workflows.policy.agent import submission_check
from workflows.policy.plan.changeset_forming import changeset_of, form_changesets
from workflows.policy.plan.graph_faults import MAX_FAULTS, MAX_GROUP
from workflows.policy.plan.plan_check import plan_faults, read_plan

pytestmark = pytest.mark.fuzz


def written(name: str, **fields: JsonValue) -> JsonValue:
    return {"id": name, "title": "t", "acceptance_criteria": ["x"], "claims": ["a"], **fields}


def only_fault(faults: Plan | tuple[PlanFault, ...]) -> PlanFault:
    assert isinstance(faults, tuple)
    assert len(faults) == 1, faults
    return faults[0]


def test_a_good_plan_is_read():
    plan = read_plan({"tasks": [written("a"), written("b", depends_on=["a"])]})
    assert isinstance(plan, Plan)
    assert [task.id for task in plan.tasks] == ["a", "b"]


@pytest.mark.parametrize(
    ("submitted", "place"),
    [
        (None, "the whole"),
        ([], "the whole"),
        ("{}", "the whole"),
        ({}, "tasks: is missing"),
        ({"tasks": []}, "tasks: must have at least 1 item"),
        ({"tasks": "[]"}, "tasks: must be a list"),
        ({"tasks": [written("")]}, "tasks[0].id"),
        ({"tasks": [written("a/b")]}, "tasks[0].id"),
        ({"tasks": [written("../x")]}, "tasks[0].id"),
        ({"tasks": [written("A")]}, "tasks[0].id"),
        ({"tasks": [written("x" * 300)]}, "tasks[0].id"),
        ({"tasks": [written("a", acceptance_criteria=[])]}, "tasks[0].acceptance_criteria"),
        ({"tasks": [written("a", claims=[""])]}, "tasks[0].claims[0]"),
        ({"tasks": [written("a", colour="red")]}, "tasks[0].colour: is not a field here"),
        ({"tasks": [written("a", title="\ud83d")]}, "tasks[0].title"),
        (
            {"tasks": [written(f"t{n}") for n in range(1001)]},
            "tasks: must have at most 1000 items, not 1001",
        ),
    ],
)
def test_a_wrong_shape_is_named_with_its_place(submitted: JsonValue, place: str):
    fault = only_fault(read_plan(submitted))
    assert fault.kind == "shape"
    assert fault.text.startswith(place)


def test_many_faults_are_cut_and_counted():
    faults = read_plan({"tasks": [{"id": "A"} for _ in range(100)]})
    assert isinstance(faults, tuple)
    assert len(faults) == MAX_FAULTS
    assert faults[-1].kind == "more"


@pytest.mark.parametrize(
    ("tasks", "kind", "words"),
    [
        ([written("a"), written("a")], "duplicate", "'a'"),
        ([written("a", depends_on=["zz"])], "unknown", "'zz'"),
        ([written("a", depends_on=["a"])], "cycle", "a→a"),
        (
            [written("a", depends_on=["b"]), written("b", depends_on=["a"])],
            "cycle",
            "a→b→a",
        ),
        ([written("a", claims=["/etc/**"])], "claim", "absolute"),
        ([written("a", claims=["ok", "../**"])], "claim", "'../**'"),
        ([written("a"), written("b", group="a")], "groups", "group 'a'"),
        (
            [
                written("a", group="g"),
                written("b", depends_on=["a"]),
                written("c", group="g", depends_on=["b"]),
            ],
            "groups",
            "g→b→g",
        ),
    ],
)
def test_a_fault_of_the_graph_is_named(tasks: list[JsonValue], kind: str, words: str):
    fault = only_fault(read_plan({"tasks": tasks}))
    assert fault.kind == kind
    assert words in fault.text


def test_the_claim_for_everything_is_allowed():
    assert plan_faults(a_plan(a_task("a", ["**"]))) == ()


def test_a_group_may_bear_the_id_of_a_task_inside():
    assert plan_faults(a_plan(a_task("a", group="a"), a_task("b", group="a"))) == ()


def test_at_most_so_many_faults_of_the_graph():
    tasks = [a_task(f"t{n}", depends_on=[f"t{n}"]) for n in range(50)]
    assert len(plan_faults(a_plan(*tasks))) == MAX_FAULTS
    assert plan_faults(a_plan(*tasks, a_task("last", depends_on=["none"])))[-1].kind == "more"


def test_all_faults_of_a_plan_are_reported_at_once_with_positions():
    faults = read_plan(
        {
            "tasks": [
                {"id": "a", "acceptance_criteria": ["x"], "claims": ["a"], "colour": "red"},
                written("b", claims=["ok", "../b"], depends_on=["c", "zz"]),
                written("c", claims=["c"], depends_on=["b"], title="x\x1by"),
                written("c", claims=["c2"]),
                written("d", claims=["d"], depends_on=["e"]),
                written("e", claims=["e"], depends_on=["d"]),
                written("f", claims=["shared"], group="g"),
                written("h", claims=["shared"], group="g"),
                written("i", claims=["i"], group="f"),
                "no task",
            ]
        }
    )
    assert isinstance(faults, tuple)
    assert [(fault.kind, fault.place) for fault in faults] == [
        ("shape", ("tasks", 0, "title")),
        ("shape", ("tasks", 0, "colour")),
        ("shape", ("tasks", 9)),
        ("text", ("tasks", 2, "title")),
        ("duplicate", ("tasks", 3, "id")),
        ("unknown", ("tasks", 1, "depends_on", 1)),
        ("claim", ("tasks", 1, "claims", 1)),
        ("cycle", ("tasks", 4, "depends_on", 0)),
        ("groups", ("tasks", 8, "group")),
    ]
    assert faults[0].text == "tasks[0].title: is missing (task 'a')"


def test_a_fault_that_may_follow_from_another_is_not_reported_yet():
    """`b` may have meant `a`, and then they do not claim the same paths side by side."""
    pair = [written("a", group="g"), written("b", group="g", depends_on=["aa"])]
    assert only_fault(read_plan({"tasks": pair})).kind == "unknown"
    malformed = [written("a", group="g"), written("b", group="g", depends_on=["A"])]
    assert only_fault(read_plan({"tasks": malformed})).kind == "shape"


def test_independent_faults_are_all_reported():
    tasks = [
        written("a", group="g", claims=["shared"]),
        written("b", group="g", claims=["shared"]),
        written("c", claims=["c"], depends_on=["c"]),
        written("d", group="h", claims=["d"]),
        written("e", claims=["e"], depends_on=["d"]),
        written("f", group="h", claims=["f"], depends_on=["e"]),
    ]
    faults = read_plan({"tasks": tasks})
    assert isinstance(faults, tuple)
    assert [fault.kind for fault in faults] == ["cycle", "groups", "groups"]
    assert "h→e→h" in faults[1].text
    assert "'a' and 'b' of group 'g'" in faults[2].text


def test_a_very_long_cycle_is_cut_in_its_middle():
    tasks = [a_task(f"t{n}", depends_on=[f"t{(n + 1) % 500}"]) for n in range(500)]
    fault = only_fault(plan_faults(a_plan(*tasks)))
    assert fault.text.startswith("t0→t1→")
    assert "→…→" in fault.text
    assert "→t499→t0:" in fault.text


def test_changesets_and_their_tasks_come_in_dependency_order():
    plan = a_plan(
        a_task("late", depends_on=["b2"]),
        a_task("b2", depends_on=["b1"], group="b"),
        a_task("b1", depends_on=["early"], group="b"),
        a_task("early"),
    )
    formed = form_changesets(plan)
    assert [(c.id, c.tasks) for c in formed] == [
        ("early", ("early",)),
        ("b", ("b1", "b2")),
        ("late", ("late",)),
    ]


@examples(50)
@given(st.data())
def test_every_task_is_in_one_changeset_behind_all_it_needs(data: st.DataObject):
    count = data.draw(st.integers(1, 8))
    names = [f"t{n}" for n in range(count)]
    plan = a_plan(
        *(
            a_task(
                name,
                depends_on=data.draw(st.lists(st.sampled_from(names), max_size=2, unique=True)),
                group=data.draw(st.sampled_from([None, "g", "h", "t0"])),
            )
            for name in names
        )
    )
    if plan_faults(plan):
        return
    formed = form_changesets(plan)
    place = {task: (n, c.tasks.index(task)) for n, c in enumerate(formed) for task in c.tasks}
    assert sorted(place) == sorted(names)
    for task in plan.tasks:
        assert formed[place[task.id][0]].id == changeset_of(task)
        assert all(place[d] < place[task.id] for d in task.depends_on)


def _member(name: str, **other: JsonValue) -> dict[str, JsonValue]:
    common: dict[str, JsonValue] = {"title": "t", "acceptance_criteria": ["c"], "group": "g"}
    return {"id": name, "claims": ["a/**"], **common, **other}


def test_tasks_of_a_group_that_write_the_same_paths_must_follow_each_other() -> None:
    def pair(**second: JsonValue) -> Plan | tuple[PlanFault, ...]:
        return read_plan({"tasks": [_member("x"), _member("y", **second)]})

    faults = pair()
    assert isinstance(faults, tuple)
    assert "'x' and 'y' of group 'g' claim the same paths" in faults[0].text
    assert isinstance(pair(depends_on=["x"]), Plan)
    assert isinstance(pair(claims=["b/**"]), Plan)
    assert isinstance(pair(group="h"), Plan)


def test_a_group_too_large_to_approve_as_one_is_refused() -> None:
    tasks: list[JsonValue] = [_member(f"t{n}", claims=[f"{n}"]) for n in range(MAX_GROUP + 1)]
    faults = read_plan({"tasks": tasks})
    assert isinstance(faults, tuple)
    assert f"{MAX_GROUP + 1} tasks" in faults[0].text


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
CLAIMS = (
    st.sampled_from(("a/**", "../x", "/x", "", "**", "a//b", "[", "a\0b", ".git", "b")) | st.text()
)
NAMES = st.sampled_from(("a", "b", "A", "", "a-" * 40, "\u0430"))
TASKS = st.fixed_dictionaries(
    {
        "id": NAMES | JSON,
        "title": st.just("t") | JSON,
        "acceptance_criteria": st.just(["c"]) | JSON,
        "claims": st.lists(CLAIMS, max_size=3) | JSON,
    },
    optional={
        "depends_on": st.lists(NAMES, max_size=2) | JSON,
        "group": NAMES | JSON,
        "priority": JSON,
        "kind": JSON,
        "more": JSON,
    },
)


@given(JSON | st.fixed_dictionaries({"tasks": st.lists(TASKS, max_size=3) | JSON}))
def test_whatever_is_submitted_is_a_plan_or_faults(submitted: JsonValue):
    read = read_plan(submitted)
    assert isinstance(read, Plan) or (1 <= len(read) <= MAX_FAULTS and all(f.text for f in read))


@examples(25)
@given(st.dictionaries(st.sampled_from(("tasks", "summary")) | st.text(), st.lists(TASKS) | JSON))
def test_every_submission_is_accepted_or_its_faults_reported(arguments: dict[str, JsonValue]):
    for role in Role:
        told = submission_check.fault(role, arguments)
        assert told is None or told
