"""A worker process whose model obeys whatever it reads."""

import sys

from tests.fakes.gullible import activities
from workers.__main__ import main
from workers.worker_serving import Code

if __name__ == "__main__":
    sys.exit(main(code=Code(activities=activities)))
