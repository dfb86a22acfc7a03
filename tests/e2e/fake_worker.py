"""A worker process as `python -m workers`, with the fake session in place of the real code."""

import sys

from tests.e2e.fake_session import FakeSession
from workers.__main__ import main
from workers.roles import Role
from workers.worker_serving import Code


def _workflows(role: Role) -> list[type]:
    return [FakeSession] if role is Role.WORKFLOWS else []


if __name__ == "__main__":
    sys.exit(main(code=Code(workflows=_workflows, activities=lambda _role, _settings: [])))
