"""Outputs as the runners printed them; each keeps the lines that once led a reader astray."""

from activities.gates.failing_tests import failing_tests
from workflows.domain.gate import GateSpec


def gate(*argv: str) -> GateSpec:
    return GateSpec(name="check", argv=argv)


PYTEST = """\
F..E                                                                     [100%]
=================================== FAILURES ===================================
________________________________ test_p[a - b] _________________________________
----------------------------- Captured stdout call -----------------------------
FAILED not/a/test.py::x - noise
=========================== short test summary info ============================
FAILED noise/from_an_inner_run.py::y
=========================== short test summary info ============================
FAILED test_a.py::test_p[a - b] - assert False
FAILED test_a.py::test_bad - AssertionError: a - b
assert 1 == 2
FAILED test_a.py::test_addr[<object object at 0x7faf4f3a7d30>] - assert not <object ...
FAILED test_a.py::test_addr[<object object at 0x7faf4f3a6770>] - assert not <object ...
FAILED test_a.py::test_p[2026-11-27T10:00:00Z] - assert False
FAILED test_a.py::test_p[[] - assert False
FAILED test_a.py::TestC::test_m - ValueError
SUBFAILED(i=1) test_a.py::U::test_u - AssertionError: q
SUBFAILED(i=2) test_a.py::U::test_u - AssertionError: q
ERROR test_import.py
ERROR test_a.py::test_fix - RuntimeError: x
FAIL Required test coverage of 80% not reached. Total coverage: 79.00%
11 failed, 2 passed, 2 errors in 1.95s
"""


def test_pytest_short_summary():
    assert failing_tests(gate("python", "-m", "pytest", "-q"), PYTEST) == (
        "coverage below the required total",
        "test_a.py::TestC::test_m",
        "test_a.py::U::test_u (i=1)",
        "test_a.py::U::test_u (i=2)",
        "test_a.py::test_addr[<object object at 0x…>]",
        "test_a.py::test_addr[<object object at 0x…>] #2",
        "test_a.py::test_bad",
        "test_a.py::test_fix",
        "test_a.py::test_p[<time>]",
        "test_a.py::test_p[[]",
        "test_a.py::test_p[a - b]",
        "test_import.py",
    )


def test_pytest_without_a_summary_takes_only_what_names_a_place():
    output = "ERROR could not reach the server\nFAILED tests/test_a.py::test_x - boom\nFAILED login"
    assert failing_tests(gate("pytest"), output) == ("tests/test_a.py::test_x",)


RULE = "=" * 70
UNITTEST = f"""\
ERROR: this is a log line (of.the.program)
{RULE}
ERROR: test_e (test_b.C.test_e)
{"-" * 70}
{RULE}
ERROR: setUpClass (test_b.D)
{RULE}
ERROR: test_imp (unittest.loader._FailedTest.test_imp)
{RULE}
FAIL: test_s (test_b.C.test_s) [m] (i=0)
{RULE}
FAIL: test_old (test_b.C)
{RULE}
UNEXPECTED SUCCESS: test_un (test_b.C.test_un)
"""


def test_unittest_headings():
    assert failing_tests(gate("python", "-m", "unittest", "discover"), UNITTEST) == (
        "test_b.C.test_e",
        "test_b.C.test_old",
        "test_b.C.test_s [m] (i=0)",
        "test_b.C.test_un",
        "test_b.D.setUpClass",
        "test_imp",
    )


GO = """\
--- FAIL: TestX (0.00s)
    --- FAIL: TestX/sub_case (0.00s)
        x_test.go:7: --- FAIL: TestNoise
    x_test.go:8: boom
FAIL
FAIL\texample.com/m/a\t0.003s
ok  \texample.com/m/b\t(cached)
# example.com/m/c [example.com/m/c.test]
c/c_test.go:3:1: undefined: y
FAIL\texample.com/m/c [build failed]
--- FAIL: TestX (1.25s)
panic: boom
FAIL\texample.com/m/d\t1.3s
?   \texample.com/m/e\t[no test files]
FAIL\texample.com/m/f\t0.1s
FAIL
"""


def test_go_by_package():
    assert failing_tests(gate("go", "test", "./..."), GO) == (
        "example.com/m/a.TestX",
        "example.com/m/a.TestX/sub_case",
        "example.com/m/c [build failed]",
        "example.com/m/d.TestX",
        "example.com/m/f",
    )


CARGO = """\
     Running unittests src/lib.rs (target/debug/deps/my_crate-8c1a648309b03e4d)

running 3 tests
test tests::ok ... ok
test tests::sp - should panic ... FAILED
test tests::bad ... FAILED

failures:

---- tests::bad stdout ----
test printed::by::a_test ... FAILED


failures:
    tests::bad
    tests::loud
    tests::sp

test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.14s

error: test failed, to rerun pass `--lib`
     Running tests/it.rs (target/debug/deps/it-0d05a688098a578c)
test it_bad ... FAILED
   Doc-tests my_crate
test src/lib.rs - f (line 1) ... FAILED
test src/lib.rs - f (line 9) ... FAILED
error: could not compile `other-crate` (lib test) due to 1 previous error
"""


def test_cargo_by_target():
    assert failing_tests(gate("cargo", "test"), CARGO) == (
        "it it_bad",
        "my_crate src/lib.rs - f",
        "my_crate src/lib.rs - f #2",
        "my_crate tests::bad",
        "my_crate tests::loud",
        "my_crate tests::sp",
        "other-crate (lib test) does not compile",
    )


TAP = """\
TAP version 13
# Subtest: suite
    not ok 1 - inner - fails
      ---
      error: 'not ok 9 in a message'
      ...
not ok 2 - suite
not ok 3 - todo # TODO
ok 4 - fine
not ok 5 no dash
"""
NODE_SPEC = """\
✖ top fails (2.874311ms)
▶ suite
  ✖ inner (0.629263ms)
  ✔ ok (0.301683ms)
✖ suite (1.535524ms)
⚠ todo (0.298828ms) # TODO
✖ failing tests:

✖ top fails (2.874311ms)
"""
JEST = """\
PASS src/ok.test.js
  ● Console
FAIL src/a.test.ts (5.123 s)
  ● Console

    console.log
  ● adds \u203a two numbers

    expect(received).toBe(expected)
  ● top level
FAIL packages/b/b.test.jsx
  ● Test suite failed to run
Summary of all failing tests
FAIL src/a.test.ts (5.123 s)
  ● adds \u203a two numbers
"""
VITEST = """\
 FAIL  src/a.test.ts > suite > test name
 FAIL  src/b.test.ts [ src/b.test.ts ]
"""


def test_tap():
    assert failing_tests(gate("npm", "test"), TAP) == ("inner - fails", "no dash", "suite")


def test_node_spec_reporter_without_durations():
    assert failing_tests(gate("node", "--test"), NODE_SPEC) == ("inner", "suite", "top fails")


def test_jest_by_file():
    assert failing_tests(gate("yarn", "test"), JEST) == (
        "packages/b/b.test.jsx Test suite failed to run",
        "src/a.test.ts adds \u203a two numbers",
        "src/a.test.ts top level",
    )


def test_vitest():
    assert failing_tests(gate("pnpm", "test"), VITEST) == (
        "src/a.test.ts > suite > test name",
        "src/b.test.ts [ src/b.test.ts ]",
    )


MOCHA = """\
  2) not a failure
  1) top level
  Outer
    inner
      2) adds

  1 passing (229ms)
  3 failing

  1) top level:
     Error: boom
      at Context.<anonymous> (t/m.js:4:62)

  2) Outer
       inner
         adds:

      AssertionError [ERR_ASSERTION]: 1 == 2
      + expected - actual

  3) Outer
       "before each" hook for "never":
     Error: h
"""
JASMINE = """\
Started
.F

Failures:
1) Outer inner adds
  Message:
    Expected 1 to be 2.
    2) printed
  Stack:
        at <Jasmine>

2 specs, 1 failure
"""
AVA = """\
  \u2718 [fail]: outer \u203a adds
  \u2714 ok
  1 test failed
"""


def test_mocha_with_the_suites_of_each_test():
    assert failing_tests(gate("npm", "test"), MOCHA) == (
        'Outer "before each" hook for "never"',
        "Outer inner adds",
        "top level",
    )


def test_jasmine():
    assert failing_tests(gate("npm", "test"), JASMINE) == ("Outer inner adds",)


def test_ava():
    assert failing_tests(gate("npm", "test"), AVA) == ("outer \u203a adds",)


RUFF = """\
bad.py:1:7: invalid-syntax: Expected a parameter or the end of the parameter list
r.py:1:8: F401 [*] `os` imported but unused
r.py:2:8: F401 [*] `sys` imported but unused
Found 3 errors.
[*] 2 fixable with `--fix`.
"""
RUFF_FULL = """\
F401 [*] `os` imported but unused
 --> r.py:1:8
  |
1 | import os
  |        ^^
help: Remove unused import: `os`

invalid-syntax: unexpected EOF while parsing
 --> bad.py:1:9
"""


def test_ruff_concise_without_line_numbers_but_counted():
    expected = ("bad.py invalid-syntax", "r.py F401", "r.py F401 #2")
    assert failing_tests(gate("ruff", "check"), RUFF) == expected


def test_ruff_full():
    expected = ("bad.py invalid-syntax", "r.py F401")
    assert failing_tests(gate("ruff", "check"), RUFF_FULL) == expected


def test_behind_make_every_form_is_tried():
    output = PYTEST + GO + RUFF
    found = failing_tests(gate("make", "test"), output)
    assert {"test_a.py::test_bad", "example.com/m/f", "r.py F401"} <= set(found)


def test_an_unknown_form_names_nothing():
    assert failing_tests(gate("./check.sh"), "everything is broken\n") == ()
