"""`up` with the fake workers: keeps server and workers until it is ended."""

import asyncio
import os
import signal
from contextlib import suppress

from tests.e2e.processes import fake_command, standing_by_mark
from workers.roles import Role
from workers.server.supervisor import Supervisor
from workers.settings import Settings


async def main() -> None:
    """Supervise, and leave a mark where another one does."""
    settings = Settings.read()
    supervisor = Supervisor(settings, os.environ, fake_command, [Role.WORKFLOWS])
    keeping = asyncio.create_task(supervisor.keep())
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, keeping.cancel)
    await asyncio.wait(
        [keeping, asyncio.create_task(supervisor.server_ready.wait())],
        return_when=asyncio.FIRST_COMPLETED,
    )
    if not supervisor.supervises:
        standing_by_mark(settings).touch()
    with suppress(asyncio.CancelledError):
        await keeping


if __name__ == "__main__":
    asyncio.run(main())
