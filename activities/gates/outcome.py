"""Extracts the facts of one gate's run: how it ended, what was missing, which tests ran.

Pure. `workflows.policy.gates.gate_results` decides what they mean. The output only tells why a
program could not start and what ran; it never turns a failure into a pass.
"""

import re
import signal
from pathlib import PurePosixPath
from typing import assert_never

from activities.gates.failing_tests import failing_tests
from activities.gates.gitleaks import is_gitleaks
from activities.gates.output_excerpt import MAX_EXCERPT_CHARS, decode_output, excerpt, plain_lines
from activities.gates.run_summaries import summarise, without_passed
from activities.ports.sandbox_port import Limits, SandboxResult
from workflows.domain.gate import GateFacts, GateResult, GateSpec
from workflows.policy.gates.gate_results import read_run

_MIB = 1 << 20
_NO_TESTS_RAN = 5
"""pytest's exit code, and unittest's since Python 3.12."""
_PYTEST_USAGE_ERROR = 4
_CANNOT_RUN = 126
_NOT_FOUND = 127
_SIGNAL_BASE = 128
_LAST_PLAIN_SIGNAL = 31
_TAIL_BYTES = 16_384
_MAX_SAID = 200

_EXEC_FAILED = re.compile(
    r"^\S*(?:bwrap|setpriv|prlimit|env)\S*: (?:.*exec\w*:? )?['\"]?([^:'\"\n]+)['\"]?"
    r": (?:No such file or directory|Permission denied)\s*\Z",
    re.MULTILINE,
)
_SHELL_NOT_FOUND = re.compile(
    r"^(?:\S*sh|\S+\.sh): (?:line )?(?:\d+: )?(?:exec: )?([^\s:]+): (?:command )?not found\s*$",
    re.MULTILINE,
)
_MAKE_NOT_FOUND = re.compile(
    r"^make(?:\[\d+\])?: ([^\s:]+): (?:No such file or directory|Permission denied)\s*$",
    re.MULTILINE,
)
_MAKE_ERROR = re.compile(r"^make(?:\[\d+\])?: \*\*\* .* Error 12[67]\s*\Z", re.MULTILINE)
_NO_MODULE = re.compile(r"^\S*python[\d.]*: No module named (\S+)\s*\Z", re.MULTILINE)
_UNKNOWN_OPTIONS = re.compile(r"error: unrecognized arguments: (.{1,200})")
_MISSING_PLUGINS = re.compile(r"Missing required plugins: (.{1,200})")


def judge(gate: GateSpec, ran: SandboxResult, limits: Limits) -> GateResult:
    """Return the result of a gate's run; pure.

    Returns:
        The result with reason, failures and excerpt; exit code 128 + N if signal N ended it.
    """
    facts = facts_of(gate, ran, limits)
    reading = read_run(facts)
    has_failed = reading.result == "failed"
    return GateResult(
        gate=gate.name,
        result=reading.result,
        why=reading.why,
        exit_code=facts.exit_code,
        reason=reading.reason,
        failures=facts.failures if has_failed else (),
        cut_short=facts.cut_short if has_failed else "",
        tests=facts.tests,
        excerpt=_excerpt(ran),
    )


def facts_of(gate: GateSpec, ran: SandboxResult, limits: Limits) -> GateFacts:
    """Return the facts of a gate's run; failures only if it exited by itself with an error."""
    code = ran.code if ran.end == "exited" else _SIGNAL_BASE + ran.code
    ended_by = _ended_by(ran, limits)
    if ended_by:
        return GateFacts(end=ran.end, exit_code=code, ended_by=ended_by)
    obstacle = "" if code == 0 else _start_obstacle(gate, ran) or ""
    output = decode_output(ran.output)
    summary = summarise(gate, output)
    return GateFacts(
        end=ran.end,
        exit_code=code,
        not_started=obstacle,
        none_found=summary.none_found or ("" if summary.cut_short else _no_tests(gate, code)),
        cut_short=summary.cut_short,
        tests=summary.tests,
        failures=() if obstacle or code == 0 else failing_tests(gate, output),
    )


def _tail(ran: SandboxResult) -> str:
    """Return the end of the output, in short lines, so that searches are cheap."""
    return "\n".join(plain_lines(decode_output(ran.output[-_TAIL_BYTES:]).rstrip()))


def _names(gate: GateSpec, ran: SandboxResult) -> tuple[str, ...]:
    return failing_tests(gate, decode_output(ran.output))


def _ended_by(ran: SandboxResult, limits: Limits) -> str:
    """Return the limit or signal that ended the gate; empty if it exited by itself."""
    match ran.end:
        case "timed_out":
            return f"time-out after {limits.timeout.total_seconds():g} s"
        case "out_of_memory":
            return f"out of memory: more than {limits.memory_bytes // _MIB} MiB"
        case "out_of_disk":
            return f"out of disk: wrote more than {limits.disk_bytes // _MIB} MiB"
        case "signalled":
            return f"killed by {_signal(ran.code)}"
        case "exited":
            # A shell, make or npm that started the program reports its signal this way.
            is_signal = _SIGNAL_BASE < ran.code <= _SIGNAL_BASE + _LAST_PLAIN_SIGNAL
            return f"killed by {_signal(ran.code - _SIGNAL_BASE)}" if is_signal else ""
        case _:
            assert_never(ran.end)


def _start_obstacle(gate: GateSpec, ran: SandboxResult) -> str | None:
    """Return why the gate could not start; None if it could."""
    tail = _tail(ran)
    missing = _missing_program(gate, ran.code, tail)
    if missing is not None:
        return (
            f"{missing!r} cannot be run in the sandbox: install it in 'worktree.setup', name its "
            f"toolchain in 'environment.toolchains', or change the command of gate {gate.name!r}"
        )
    usage = _pytest_usage(gate, ran.code, tail)
    return _missing_module(gate, tail) or usage or _unreported(gate, ran, tail)


def _missing_program(gate: GateSpec, code: int, tail: str) -> str | None:
    launch = _EXEC_FAILED.search(tail)
    if launch is not None and launch[1] == gate.argv[0]:
        return launch[1]
    by_make = _MAKE_ERROR.search(tail) is not None
    if code not in {_CANNOT_RUN, _NOT_FOUND} and not by_make:
        return None
    named = _last(_SHELL_NOT_FOUND, tail) or _last(_MAKE_NOT_FOUND, tail)
    return named or gate.argv[0]


def _last(pattern: re.Pattern[str], text: str) -> str | None:
    found = pattern.findall(text)
    return found[-1] if found else None


def _missing_module(gate: GateSpec, tail: str) -> str | None:
    """Return Python's own message, in its last line, that a module such as pytest is missing."""
    match = _NO_MODULE.search(tail)
    if match is None or match[1] not in gate.argv:
        return None
    return (
        f"the sandbox's Python has no module {match[1]!r}: install it in 'worktree.setup', "
        f"or change the command of gate {gate.name!r}"
    )


def _pytest_usage(gate: GateSpec, code: int, tail: str) -> str | None:
    """Return options of a missing plugin; other usage errors are the repository's own."""
    if code != _PYTEST_USAGE_ERROR or not _is_pytest(gate):
        return None
    match = _UNKNOWN_OPTIONS.search(tail) or _MISSING_PLUGINS.search(tail)
    if match is None:
        return None
    return (
        f"pytest could not start ({match[0].strip()}): a plugin is missing in the sandbox; "
        "install it in 'worktree.setup'"
    )


def _unreported(gate: GateSpec, ran: SandboxResult, tail: str) -> str | None:
    """Return why gitleaks could not scan: its exit code is the same as for a finding."""
    if not is_gitleaks(gate.argv) or _names(gate, ran):
        return None
    said = tail.strip().rpartition("\n")[2][:_MAX_SAID] or f"exit code {ran.code}"
    return (
        f"gitleaks reported no finding and failed ({said}); "
        f"its command in gate {gate.name!r} must end with -f json -r -"
    )


def _no_tests(gate: GateSpec, code: int) -> str:
    """Say by its exit code that a runner found no tests."""
    is_runner = "unittest" in gate.argv or _is_pytest(gate)
    return "no tests ran" if code == _NO_TESTS_RAN and is_runner else ""


def _is_pytest(gate: GateSpec) -> bool:
    return any(PurePosixPath(word).name in {"pytest", "py.test"} for word in gate.argv)


def _excerpt(ran: SandboxResult) -> str:
    """Return the cut output, followed by the sandbox's own messages."""
    notes: list[str] = []
    if ran.cut_at is not None:
        notes.append(f"[output cut: of {ran.output_bytes} bytes both ends were kept]")
    if ran.survivors:
        kind = "process" if ran.survivors == 1 else "processes"
        notes.append(f"[{ran.survivors} {kind} left, ended]")
    added = "\n".join(notes)
    text = excerpt(without_passed(ran.output), limit=MAX_EXCERPT_CHARS - len(added) - 1)
    return "\n".join(part for part in (text, added) if part)


def _signal(number: int) -> str:
    try:
        return f"signal {number} ({signal.Signals(number).name})"
    except ValueError:
        return f"signal {number}"
