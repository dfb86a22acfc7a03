"""What a red gate says of its cause, and the line that is advised for it."""

import pytest

from workflows.domain.gate import GateResult, WhyNothing
from workflows.policy.gates.likely_causes import WATCHES, cause_of, remedy_of


def red(excerpt: str) -> GateResult:
    return GateResult(gate="tests", result="failed", exit_code=1, excerpt=excerpt)


PYTEST = """==================================== ERRORS ====================================
_________________________ ERROR collecting test_a.py __________________________
ImportError while importing test module '/workspace/test_a.py'.
test_a.py:1: in <module>
    import requests
E   ModuleNotFoundError: No module named 'requests'
"""


@pytest.mark.parametrize(
    ("excerpt", "cause"),
    [
        (
            PYTEST,
            None,
        ),
        (
            "a\nsh: 1: cargo: not found\nmake: *** Error 127\n",
            "sh: 1: cargo: not found / make: *** Error 127",
        ),
        ("one\n\nthe last\n=====\n", "the last"),
        ("E   assert 1 == 2\n", "assert 1 == 2"),
        ("", ""),
        ("Error: " + "x" * 500, "Error: " + "x" * 153),
    ],
)
def test_g53_the_first_lines_of_the_cause_are_quoted(excerpt: str, cause: str | None):
    wanted = (
        "ImportError while importing test module '/workspace/test_a.py'. / "
        "ModuleNotFoundError: No module named 'requests'"
    )
    assert cause_of(red(excerpt)) == (wanted if cause is None else cause)


@pytest.mark.parametrize(
    ("excerpt", "said"),
    [
        ("E   ModuleNotFoundError: No module named 'yaml.cyaml'", "'yaml' is the project's own or"),
        ("/usr/bin/python3: No module named pytest", "'pytest' is the project's own or a test req"),
        ("Error: Cannot find module 'left-pad/lib/x'\nRequire stack:", "install 'left-pad' before"),
        ("Cannot find package '@scope/one' imported from /workspace/a.mjs", "install '@scope/one'"),
        ("error[E0463]: can't find crate for `serde`", "`worktree.setup` fetch 'serde'"),
        ("a.go:3: no required module provides package example.org/x; to add", "'example.org/x'"),
        ("cannot load such file -- rspec/core (LoadError)", "fetch 'rspec/core' before gates"),
        ("sh: 1: cargo: not found", "environment: {toolchains: [PREFIX]}`, where PREFIX/bin/cargo"),
        ("bash: line 3: pnpm: command not found", "the toolchain of 'pnpm'"),
        ("make: go: No such file or directory", "PREFIX/bin/go is"),
        (
            "FileNotFoundError: [Errno 2] No such file or directory: 'node'",
            "the toolchain of 'node'",
        ),
        ("Error: spawn esbuild ENOENT", "the toolchain of 'esbuild'"),
        (
            "urllib3: host='pypi.example.org', Temporary failure in name resolution",
            "`worktree: {setup: [[COMMAND]], network: [pypi.example.org]}`",
        ),
        ("npm ERR! getaddrinfo EAI_AGAIN registry.example.org", "network: [registry.example.org]}"),
        ("curl: (6) Could not resolve host", "network: [HOST]}"),
        ("OSError: [Errno 30] Read-only file system: '/opt/x'", "to TMPDIR: all else is read-only"),
        ("E   assert 1 == 2", ""),
        ("", ""),
    ],
)
def test_g53_the_likely_line_to_add_is_named(excerpt: str, said: str):
    remedy = remedy_of(red(excerpt))
    assert said in remedy
    assert bool(said) == bool(remedy)


@pytest.mark.parametrize(
    ("why", "reason", "said"),
    [
        (WhyNothing.TIMED_OUT, "time-out after 600 s", WATCHES),
        (WhyNothing.STOPPED, "out of memory: more than 4096 MiB", "environment.memory_mb"),
        (WhyNothing.STOPPED, "out of disk: wrote more than 1 MiB", "environment.disk_mb"),
        (WhyNothing.STOPPED, "killed by signal 9 (SIGKILL)", ""),
    ],
)
def test_g32_a_limit_names_its_usual_cause_or_its_setting(why: WhyNothing, reason: str, said: str):
    result = GateResult(gate="t", result="judged_nothing", why=why, exit_code=143, reason=reason)
    assert said in remedy_of(result)
