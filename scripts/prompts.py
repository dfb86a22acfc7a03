"""Writes the complete first request of every role, for each provider, into the snapshots.

So a review shows each change of wording, schema or order.
`tests/unit/activities/prompts/test_first_requests.py` compares the snapshots with the code.
"""

import asyncio
from pathlib import Path

from benchmarks.captured import MODELS, Captured, rendered
from workflows.domain.agent.model_values import Role

SNAPSHOTS = Path(__file__).parents[1] / "tests/unit/activities/prompts/first_requests"


async def main() -> None:
    """Write one file for each role and provider."""
    for provider in MODELS:
        for role in Role:
            seen = Captured(provider)
            await seen.talk(role, turns=1)
            path = SNAPSHOTS / f"{provider}-{role}.txt"
            path.write_text(rendered(seen.bodies[0]), "utf-8")
            print(path.relative_to(Path.cwd()))


if __name__ == "__main__":
    asyncio.run(main())
