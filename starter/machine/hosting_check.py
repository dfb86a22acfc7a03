"""The check of `doctor` for `deliver: pull_request`: remote, hosting service and token.

It asks no service anything, and never shows a token.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from starter.machine.machine_checks import Check

if TYPE_CHECKING:
    from starter.configuration.effective_configuration import Configuration


async def hosting_check(
    root: Path, configuration: "Configuration", environment: Mapping[str, str]
) -> Check | None:
    """Check what a pull request needs; None if the configuration asks for none.

    | remote, service                            | token  | answer                          |
    |--------------------------------------------|--------|---------------------------------|
    | missing, or of no service in `hosting`     |        | MISSING: what to add            |
    | may be pushed to                           | none   | MISSING: which variables to set |
    | may be pushed to                           | one    | ok: service, repository, source |

    Args:
        root: the repository's.
        configuration: a session's.
        environment: may hold the token, and has the PATH with `gh` or `glab`.
    """
    if configuration.session.deliver != "pull_request":
        return None
    from activities.ports.land.hosting_port import HostingError
    from workers.local.hosted_repository import describe

    remote, entries = configuration.session.pull_request.remote, configuration.hosting
    try:
        return Check("hosting", "well", await describe(root, remote, entries, environment))
    except HostingError as error:
        return Check("hosting", "missing", str(error))
