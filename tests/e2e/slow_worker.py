"""A worker process with the slow activity."""

import sys

from tests.e2e.slow_work import activities, workflows
from workers.__main__ import main
from workers.worker_serving import Code

if __name__ == "__main__":
    sys.exit(main(code=Code(workflows, activities)))
