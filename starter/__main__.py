"""Entry of `blueflame` and `python -m starter`. The commands themselves are in `starter.cli`.

A repository that we are started in may have packages with our names (`workflows/`). Nothing of
ours but this module is imported before it is sure that they cannot be taken for ours.
"""

import os
import sys
from pathlib import Path


def main() -> None:
    """Run the command line.

    Raises:
        SystemExit: always; `starter.exit_codes` lists the codes.
    """
    _become_safe()
    from starter.cli import app
    from starter.terminal import make_streams_forgiving

    make_streams_forgiving()
    app()


def _become_safe() -> None:
    """Start again where the current directory could hide our packages.

    The directory itself stays: paths that the person typed are relative to it.
    """
    ours = Path(__file__).resolve().parents[1]
    here = Path.cwd()
    if here == ours or not _is_searched(here):
        return
    arguments = [sys.executable, "-P", "-m", "starter", *sys.argv[1:]]
    environment = {**os.environ, "PYTHONPATH": str(ours)}
    os.execve(sys.executable, arguments, environment)  # noqa: S606 (no shell is what we want)


def _is_searched(directory: Path) -> bool:
    return any(Path(entry or os.curdir).resolve() == directory for entry in sys.path)


if __name__ == "__main__":
    main()
