"""Measures the check of a collected diff with many files, on real git, with the search for keys.

Not a program: `thousand_files` is a measure of the safety benchmark (`postcheck_1000_s`).
"""

import statistics
import time
from pathlib import Path

from activities.repository.diff_check import check_diff
from tests.unit.activities.adapters.git.home import WHEN, Home, write
from workflows.contracts.host_contracts import FinishTask
from workflows.domain.agent.agent_values import WorktreeRef
from workflows.domain.ids import Commit, TaskId

FILES = 1_000
LINES = 60
ROUNDS = 5
_CLAIMS = ("src/**",)


async def thousand_files(folder: Path) -> float:
    """Return the median seconds of the check of a diff of 1,000 new files of 60 lines.

    Args:
        folder: an empty folder.
    """
    home = Home(folder)
    home.make({"README": "x\n"})
    place = await home.start()
    text = "".join(f"value_{number} = compute({number}, 'text')\n" for number in range(LINES))
    write(place, {f"src/d{n % 40}/f{n}.py": f"{n}\n{text}" for n in range(FILES)})
    request = FinishTask(
        worktree=WorktreeRef.model_construct(),
        task=TaskId("t1"),
        title="t",
        attempt=1,
        base=home.base,
        checkpoint=Commit(await home.commit_work()),
        claims=_CLAIMS,
        at=WHEN,
    )
    taken = [await _once(home, request) for _ in range(ROUNDS)]
    return statistics.median(taken)


async def _once(home: Home, request: FinishTask) -> float:
    began = time.perf_counter()
    checked = await check_diff(home.host, request, ())
    seconds = time.perf_counter() - began
    if checked.violations or len(checked.changes) != FILES:
        raise RuntimeError(f"the check is not what is measured: {checked.violations[:3]}")
    return seconds
