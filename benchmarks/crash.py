"""Sessions under random kills of server and workers: what is lost, doubled, or paid for twice?

Keys of the last line:
    kills                    number of kills; a power cut of all processes counts as one
    lost                     outcomes, tasks, turns or trees that the undisturbed run has and a
                             disturbed run lacks
    doubled                  effects on a worktree that happened twice
    repeated_settled_calls   model calls that were made again although their answer was settled
"""

import argparse
import asyncio
import os
import random
import sys
import tempfile
from pathlib import Path

from benchmarks.stage import report
from tests.crash import kills, play
from tests.crash.stage import stage
from workflows.domain.session.session_modes import Pacing

_MOST_PER_SESSION = 20


async def main(count: int, seed: int) -> None:
    """Kill the given number of times, in as many sessions as needed, and report."""
    chance = random.Random(seed)
    found: list[kills.Judged] = []
    done = 0
    with tempfile.TemporaryDirectory(prefix="blueflame-bench-") as name:
        async with stage(Path(name), play.playbook()) as running:
            calm = {pacing: await kills.run(running, pacing, pacing=pacing) for pacing in Pacing}
            while done < count:
                pacing = chance.choice(list(Pacing))
                wanted = min(_MOST_PER_SESSION, count - done)
                points = kills.points(calm[pacing], wanted, chance.randrange(1 << 32))
                course = await kills.run(
                    running, f"after-{done}", kills.striking(points), pacing=pacing
                )
                found.append(kills.judge(calm[pacing], course))
                done += len(course.kills)
                print(f"{done} kills, {pacing}: {found[-1]}", file=sys.stderr)
    figures = {
        "kills": done,
        "lost": sum(len(each.lost) for each in found),
        "doubled": sum(len(each.doubled) for each in found),
        "repeated_settled_calls": sum(len(each.repeated) for each in found),
    }
    report(figures, [f"seed {seed}"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4)))
    options = parser.parse_args()
    asyncio.run(main(options.kills, options.seed))
