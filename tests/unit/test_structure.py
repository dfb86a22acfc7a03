"""What the structure benchmark counts, on trees of a few lines."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.structure import Figure, details, make_test_seconds, measure

ROOT = Path(__file__).parents[2]


def measured(root: Path, key: str, files: dict[str, str]) -> Figure:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return measure(root)[key]


def test_an_empty_tree_has_nothing_to_count(tmp_path: Path):
    values = {figure.value for figure in measure(tmp_path).values()}
    assert values == {0, None}


def test_the_fullest_folder_is_counted_without_inits_and_subfolders(tmp_path: Path):
    names = ("__init__", "__main__", "a", "b", "below/c", "below/d")
    figure = measured(
        tmp_path,
        "max_modules_in_folder",
        {f"starter/{name}.py": "" for name in names} | {"tests/x/e.py": ""},
    )
    assert figure.value == 3
    assert figure.details[0].split() == ["3", "starter"]


CHAIN = {"workers/a.py": "from workers.b import x", "workers/b.py": "import workers.c"}


@pytest.mark.parametrize(
    "back",
    [
        "from workers import a",
        "import workers.a as other",
        "def f():\n    from workers.a import x",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from workers.a import x",
    ],
    ids=["module", "aliased", "lazy", "type checking"],
)
def test_a_circle_counts_however_it_is_closed(tmp_path: Path, back: str):
    figure = measured(tmp_path, "import_circles", CHAIN | {"workers/c.py": back})
    assert figure.value == 1
    assert figure.details == [
        "workers.a imports workers.b",
        "workers.b imports workers.c",
        "workers.c imports workers.a",
    ]


def test_a_chain_is_not_a_circle_and_two_circles_are_two(tmp_path: Path):
    assert measured(tmp_path, "import_circles", CHAIN | {"workers/c.py": "import os"}).value == 0
    circles = {
        "workers/c.py": "import workers.b",
        "starter/x.py": "import starter.y",
        "starter/y.py": "import starter.x, workers.a",
    }
    assert measured(tmp_path, "import_circles", circles).value == 2


def test_a_packages_init_is_in_a_circle_only_when_it_imports(tmp_path: Path):
    files = {"workers/__init__.py": '"""x"""', "workers/a.py": "from workers import name"}
    assert measured(tmp_path, "import_circles", files).value == 0
    files = {"workers/__init__.py": "from workers.a import name"}
    assert measured(tmp_path, "import_circles", files).value == 1


def function(name: str, lines: int) -> str:
    return f"def {name}():\n" + "    x = 1\n" * (lines - 1) + "\n\n"


def test_the_length_of_functions_is_told_in_ranks(tmp_path: Path):
    text = "".join(function(f"f{lines}", lines) for lines in range(2, 12))
    assert measured(tmp_path, "function_p50", {"starter/a.py": text}).value == 6
    figure = measured(tmp_path, "function_p90", {})
    assert figure.value == 10
    assert figure.details[0].split() == ["11", "starter/a.py:73", "f11"]


def test_a_function_is_as_long_as_its_code(tmp_path: Path):
    text = '''class C:
    @staticmethod
    def outer(
        a,
    ):
        """Tell.

        Much.
        """

        # A reason.
        async def inner():
            return a

        return inner
'''
    figure = measured(tmp_path, "function_p90", {"starter/a.py": text})
    assert [line.split() for line in figure.details] == [
        ["6", "starter/a.py:3", "C.outer"],
        ["2", "starter/a.py:12", "C.outer.inner"],
    ]


def test_a_file_of_400_lines_is_not_a_long_one(tmp_path: Path):
    files = {"starter/a.py": "#\n" * 400, "activities/x/b.py": "\n" * 401}
    figure = measured(tmp_path, "files_over_400", files)
    assert figure.value == 1
    assert figure.details == [" 401 activities/x/b.py"]


def test_any_counts_where_it_is_used(tmp_path: Path):
    text = """import typing
from typing import Any
x: Any = 1
y: dict[str, typing.Any] = {}
def f(*a: Any) -> None: "Any"  # Any
"""
    figure = measured(tmp_path, "any_count", {"workflows/a.py": text})
    assert figure.value == 3
    assert figure.details == [f"workflows/a.py:{line}" for line in (3, 4, 5)]


def test_casts_count_by_the_name_that_is_called(tmp_path: Path):
    text = """from typing import cast
x = cast("int", typing.cast(str, 1))
y = forecast(1)
z = cast
"""
    figure = measured(tmp_path, "cast_count", {"workflows/a.py": text})
    assert figure.value == 2
    assert figure.details == ["workflows/a.py:2"] * 2


def test_updates_count_where_evolve_does_not_make_them(tmp_path: Path):
    text = """def evolve(model, **changes):
    return check(model.model_copy(update=changes))
def g(model):
    other = model.model_copy()
    return model.model_copy(
        update={"a": 1},
    )
x = model_copy(deep=True, update={})
"""
    figure = measured(tmp_path, "unchecked_updates", {"workflows/a.py": text})
    assert figure.value == 2
    assert figure.details == ["workflows/a.py:5", "workflows/a.py:8"]


def test_a_name_of_several_modules_counts_once(tmp_path: Path):
    paths = ("workflows/x", "workflows/policy/x", "starter/x", "starter/y", "workers/z")
    mains = ("workers/__main__", "starter/__main__", "workers/__init__", "starter/__init__")
    figure = measured(
        tmp_path, "duplicate_module_names", {f"{path}.py": "" for path in (*paths, *mains)}
    )
    assert figure.value == 1
    assert figure.details == ["x: workflows/policy/x.py, workflows/x.py, starter/x.py"]


def test_the_path_of_a_task_is_what_the_walkthrough_names(tmp_path: Path):
    files = {
        "starter/a.py": function("run", 5) + function("other", 9),
        "workflows/b.py": "class W:\n    def go(self):\n        return 1\n",
        "docs/walkthrough.md": "`starter/a.py` `run`\n`workflows/b.py` `W.go`, `W.no`\n",
    }
    lines = measured(tmp_path, "task_path_lines", files)
    assert lines.value == 7
    assert lines.details == [
        "   5 starter/a.py:1 run",
        "   2 workflows/b.py:2 W.go",
        "docs/walkthrough.md, line 2: workflows/b.py has no function 'W.no'",
    ]
    assert measured(tmp_path, "task_path_files", {}).value == 2


def test_lines_of_code_are_without_comments_and_docstrings(tmp_path: Path):
    text = '''"""A module.

With two paragraphs.
"""

# A reason.
x = """text

more"""  # code


class C:
    y: int = 1
    """Of the field."""
'''
    figure = measured(tmp_path, "code_lines", {"workers/a.py": text})
    assert figure.value == 3
    assert [line.split()[:2] for line in figure.details][2:] == [
        ["3", "workers"],
        ["0", "starter"],
        ["4", "with"],
    ]


def test_the_seconds_of_make_test_are_those_of_a_run_that_passed(tmp_path: Path):
    (tmp_path / "Makefile").write_text("test:\n\t@true\n")
    assert make_test_seconds(tmp_path) >= 0
    (tmp_path / "Makefile").write_text("test:\n\t@false\n")
    with pytest.raises(RuntimeError, match="`make test` ended with 2"):
        make_test_seconds(tmp_path)


def test_the_details_stand_beneath_their_figure():
    figures = {"a": Figure(2, ["x", "y"]), "b": Figure(None), "c": Figure(1, ["z"])}
    assert list(details(figures)) == ["a: 2", "    x", "    y", "c: 1", "    z"]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_last_line_is_all_figures_in_their_order():
    ran = subprocess.run(
        [sys.executable, "-m", "benchmarks.structure", "--details"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    figures = json.loads(ran.stdout.splitlines()[-1])
    assert list(figures) == [*measure(ROOT), "make_test_s"]
    assert figures["make_test_s"] is None
    assert f"code_lines: {figures['code_lines']}\n" in ran.stderr
