"""Measures the fixed part of an agent's first request, and whether later requests begin with it.

Only Blue Flame's own code and the official SDKs run; no request leaves this process.

Keys of the last line:
    first_request_bytes     bytes of an agent's first request without the texts that are data (the
                            task, the repository's brief, a diff), the largest over roles and
                            providers
    prefix_stable           whether each request begins with the bytes of the previous one, for
                            every role and provider
"""

import argparse
import asyncio
import re

from benchmarks.captured import MODELS, NONCE, Captured, is_prefix_stable, opening_of
from benchmarks.stage import report
from workflows.domain.agent.model_values import Role

_DATA = re.compile(rf'<data {NONCE} label="[^"]*">\n(.*?)\n</data {NONCE}>', re.DOTALL)


def data_bytes(text: str) -> int:
    """Return how many bytes of an opening are data: the task's text, the brief, a diff."""
    return sum(len(found.encode()) for found in _DATA.findall(text))


async def main(turns: int) -> None:
    """Measure and report."""
    sizes: list[int] = []
    stable: list[bool] = []
    notes: list[str] = []
    for provider in MODELS:
        for role in Role:
            seen = Captured(provider)
            await seen.talk(role, turns)
            size = len(seen.bodies[0]) - data_bytes(opening_of(role))
            stable.append(is_prefix_stable(provider, seen.bodies))
            notes.append(f"{provider}, {role}: {size} bytes, {len(seen.bodies)} turns")
            sizes.append(size)
    report({"first_request_bytes": max(sizes), "prefix_stable": all(stable)}, notes)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=6)
    asyncio.run(main(parser.parse_args().turns))
