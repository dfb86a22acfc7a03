"""`up` with the fake workers: keeps server and workers until it is ended."""

import asyncio
import os

from tests.e2e.processes import fake_command
from workers.roles import Role
from workers.settings import Settings
from workers.supervisor import Supervisor

if __name__ == "__main__":
    asyncio.run(Supervisor(Settings.read(), os.environ, fake_command, [Role.WORKFLOWS]).keep())
