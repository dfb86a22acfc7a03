"""Runs gates in the sandbox, each on the same tree.

Changes that a gate makes to tracked files are named, and undone before the next gate starts. The
policy compares results with a baseline, and the activity decides on reruns; this module does not.
"""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from activities.gates.gitleaks import in_lines
from activities.gates.outcome import judge
from activities.gates.output_excerpt import bounded_lines, decode_output
from activities.gates.run_summaries import NAMING_OPTION, names_passed, pytest_names
from activities.ports.blob_store_port import BlobStore
from activities.ports.sandbox_port import Limits, Sandbox, SandboxCommand, SandboxResult, Workspace
from activities.ports.timed_parts import took_part
from activities.text.redaction import redact_bytes
from workflows.domain.gate import GateResult, GateSpec
from workflows.domain.ids import Digest

MAX_CHANGED_FILES = 100


@dataclass(frozen=True)
class Checkout:
    """A tree to judge, and how to bring it back to what was committed."""

    workspace: Workspace
    restore: Callable[[], Awaitable[tuple[str, ...]]]
    """Resets the checkout and names the tracked files that were changed."""
    hold: int | None = None
    """The checkout's lock, inherited by every process of a gate."""


class GateRunner:
    """Runs gates one after the other."""

    def __init__(self, sandbox: Sandbox, store: BlobStore) -> None:
        self._sandbox = sandbox
        self._store = store

    async def run(
        self,
        gates: Sequence[GateSpec],
        checkout: Checkout,
        limits: Limits,
        *,
        rerun: bool = False,
    ) -> tuple[GateResult, ...]:
        """Run `gates` in order, each on the committed tree.

        Args:
            gates: what to run; the timeout of each replaces that of `limits`.
            checkout: clean and set up.
            limits: bounds for each gate.
            rerun: marks the results as those of a second run.

        Raises:
            SandboxUnavailableError: nothing can be said, because nothing can be run.
        """
        return tuple([await self._run_one(gate, checkout, limits, rerun=rerun) for gate in gates])

    async def run_beside(
        self,
        gates: Sequence[GateSpec],
        checkouts: Sequence[Checkout],
        limits: Limits,
        *,
        rerun: bool = False,
    ) -> tuple[GateResult, ...]:
        """Run gates at the same time, at most one in each checkout; they start in order.

        Args:
            gates: what to run.
            checkouts: of the same tree, at least one.
            limits: bounds for each gate.
            rerun: as in `run`.

        Returns:
            The results in the order of the gates. If one raises, the others are ended first.
        """
        waiting = deque(enumerate(gates))
        done: dict[int, GateResult] = {}

        async def lane(checkout: Checkout) -> None:
            while waiting:
                place, gate = waiting.popleft()
                done[place] = await self._run_one(gate, checkout, limits, rerun=rerun)

        try:
            async with asyncio.TaskGroup() as group:
                for checkout in checkouts[: len(gates)]:
                    group.create_task(lane(checkout))
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from None
        return tuple(done[place] for place in range(len(gates)))

    async def _run_one(
        self, gate: GateSpec, checkout: Checkout, limits: Limits, *, rerun: bool
    ) -> GateResult:
        is_named = names_passed(gate.argv)
        command = SandboxCommand(
            argv=(*gate.argv, NAMING_OPTION) if is_named else gate.argv,
            workspace=checkout.workspace,
            limits=limits.lasting(gate.timeout),
        )
        began = time.monotonic()
        ran = await self._sandbox.run(command, hold=checkout.hold)
        # Megabytes of output take a while to read; heartbeats must go on during that.
        ran = await asyncio.to_thread(_cleaned, gate, ran)
        digest = await self._store.put(ran.output)
        judged = await asyncio.to_thread(judge, gate, ran, command.limits)
        ran_names = await self._ran(ran) if is_named else None
        took_part("gate", gate.name, began, judged.result)
        changed = await checkout.restore()
        return judged.evolve(
            output=digest,
            ran=ran_names,
            rerun=rerun,
            changed_files=tuple(sorted(changed)[:MAX_CHANGED_FILES]),
        )

    async def _ran(self, ran: SandboxResult) -> Digest | None:
        """Store the names of the tests that ran, one per line; None if there are no names."""
        names = await asyncio.to_thread(pytest_names, decode_output(ran.output))
        return await self._store.put("\n".join(names).encode()) if names else None


def _cleaned(gate: GateSpec, ran: SandboxResult) -> SandboxResult:
    """Redact what looks like a secret; if the output was cut, keep its true size."""
    whole = ran.marked_output()
    bounded = bounded_lines(whole)
    output = redact_bytes(in_lines(gate.argv, bounded))
    is_cut = ran.cut_at is not None or bounded is not whole
    return SandboxResult(
        end=ran.end,
        code=ran.code,
        output=output,
        output_bytes=ran.output_bytes if is_cut else len(output),
        cut_at=len(output) // 2 if is_cut else None,
        survivors=ran.survivors,
        elapsed=ran.elapsed,
        refusals=ran.refusals,
    )
