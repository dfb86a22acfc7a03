"""The released projects of third parties that `scripts/strangers` tries.

It has only names, versions and digests; everything else is fetched.
"""

from typing import Final

from benchmarks.strangers.stranger_others import OTHERS
from benchmarks.strangers.stranger_python import PYTHON

PROJECTS: Final = (*PYTHON, *OTHERS)
