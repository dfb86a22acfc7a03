"""What `doctor --repo` reports about set-up and gates after it ran each once in the sandbox.

| set-up, gate                        | answer  |
|-------------------------------------|---------|
| set-up failed, or nothing could run | MISSING |
| passed on the base                  | ok      |
| failed on the base                  | ok, with the failures: compared, and block nothing      |
| failed there and named no tests     | MISSING: nothing can be compared, so nothing is judged  |
| could not judge                     | MISSING, with the reason and the lines to add           |
"""

from typing import TYPE_CHECKING, Final

from starter.machine.helper_processes import ask
from starter.machine.machine_checks import Check
from starter.sessions.short_ids import make_id

if TYPE_CHECKING:
    from activities.projects.proposal import Proposal
    from workers.hosting.gate_trial import TrialReport, TriedGate
    from workers.settings import Settings
    from workflows.domain.session.session_config import SessionConfig

_FAILURES_NAMED: Final = 3


async def gate_checks(
    repository: str, session: "SessionConfig", settings: "Settings", proposal: "Proposal"
) -> list[Check]:
    """Run set-up and every gate once, and say which gate can judge.

    Args:
        repository: its root.
        session: what a session would get here.
        settings: those of this process, with the toolchains that are needed.
        proposal: what `init` would write; a part of it may be missing.
    """
    from workers.hosting.gate_trial import TrialReport, TrialRequest

    request = TrialRequest(
        session=make_id(),
        repository=repository,
        worktree=session.worktree,
        environment=session.environment,
        gates=session.gates,
    )
    report = await ask("workers.hosting.gate_trial", settings, request, TrialReport)
    return checks_of(report, session, proposal)


def checks_of(report: "TrialReport", session: "SessionConfig", proposal: "Proposal") -> list[Check]:
    """Turn a report into checks."""
    advice = _advice(session, proposal)
    if report.fault and not report.has_checkout:
        return [Check("gates run", "missing", report.fault)]
    if report.fault:
        return [Check("set-up", "missing", f"{report.fault.rstrip()}{advice}")]
    commands = len(session.worktree.setup)
    noun = "command" if commands == 1 else "commands"
    ran = f"{commands} {noun} in {report.setup_seconds:.1f} s; {report.setup_use}"
    setup = [Check("set-up", "well", ran)] if commands else []
    setup += [Check("set-up", "note", notice) for notice in report.setup_notices]
    return [*setup, *(_judged(tried, advice) for tried in report.gates)]


def _judged(tried: "TriedGate", advice: str) -> Check:
    from workflows.policy.gates.base_notices import (
        what_it_lacks,
        why_nothing_there,
        why_red_there,
    )

    result, name = tried.result, f"gate {tried.result.gate}"
    took = f"in {tried.seconds:.1f} s"
    if result.result == "passed":
        return Check(name, "well", f"can judge: passed on the base {took}")
    if result.result == "failed" and not result.failures:
        return Check(name, "missing", f"{what_it_lacks(result)} ({took})")
    if result.result == "failed" and not result.reason:
        named = ", ".join(result.failures[:_FAILURES_NAMED])
        told = f"{named}{' …' if len(result.failures) > _FAILURES_NAMED else ''}"
        why = why_red_there(result)
        return Check(name, "well", f"can judge, but fails on the base {took} ({told}){why}")
    return Check(name, "missing", f"cannot judge: {why_nothing_there(result)}{advice}")


def _advice(session: "SessionConfig", proposal: "Proposal") -> str:
    """Return the lines that may be missing, each where it belongs."""
    from starter.configuration.written_values import flow
    from starter.machine.own_environment.own_lines import own_lines

    lines: list[str] = []
    if proposal.setup and not session.worktree.setup:
        setup = ", ".join(flow(each) for each in proposal.setup)
        lines.append(f"blueflame.yaml:         worktree: {{setup: [{setup}]}}")
    if proposal.variables and not session.environment.variables:
        variables = flow(dict(proposal.variables))
        lines.append(f"blueflame.yaml:         environment: {{variables: {variables}}}")
    is_told = bool(session.environment.toolchains)
    own = own_lines(proposal).splitlines()
    wanted = [
        line
        for line in own
        if not (is_told and line.startswith("environment") and "registries" not in line)
    ]
    if session.worktree.network:
        wanted = [line for line in wanted if not line.startswith("worktree")]
    lines += [f"your own configuration: {line}" for line in wanted]
    return "".join(f"\n  {line}" for line in lines)
