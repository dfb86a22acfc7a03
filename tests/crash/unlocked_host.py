"""A host worker as `python -m workers`, but without the worktree's lock."""

import sys

from tests.fakes.locks import not_locked
from workers import wiring
from workers.__main__ import main
from workers.hosting.host_wiring import make_host
from workers.roles import Role
from workers.settings import Settings
from workers.worker_serving import Code


def _activities(role: Role, settings: Settings) -> list[wiring.Activity]:
    assert role is Role.HOST
    return list(wiring.host_activities(make_host(settings, not_locked)))


if __name__ == "__main__":
    sys.exit(main(code=Code(activities=_activities)))
