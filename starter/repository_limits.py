"""What a `blueflame.yaml` that was found in the repository may not decide against the person.

Pure; values are compared by dotted key with what would hold without that file. What no setting of
the person's can allow there (the sandbox, secrets) is refused where the file is read.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Final, cast

from workflows.domain.config import Approvals, SessionConfig

_REMEDY = (
    "a repository cannot decide that for you; say it in your own configuration, with --config FILE "
    "or with a flag"
)
_ASKING: Final = "ask"
_DEFAULTS: Final[Mapping[str, object]] = {
    "approvals.plan": Approvals().plan,
    "approvals.changeset": Approvals().changeset,
    "on_cap": SessionConfig.model_fields["on_cap"].default,
    "budget.stop_usd": SessionConfig.model_fields["budget"].default.stop_usd,
}


def limit_faults(found: Mapping[str, object], own: Mapping[str, object]) -> tuple[str, ...]:
    """Say which values of the repository's file are not its to decide.

    | key                | the repository may say                                     |
    |--------------------|------------------------------------------------------------|
    | `approvals.…`      | `ask`, or what the person says                             |
    | `on_cap`           | what the person says, or the default                       |
    | `budget.stop_usd`  | at most what the person says, or the default               |
    | any other          | anything                                                   |

    Args:
        found: the file's values that no later layer replaces, by dotted key.
        own: what the person's own file says, by dotted key.

    Returns:
        One complaint for each, beginning with the key.
    """
    checked = ((key, found[key], own.get(key, _DEFAULTS[key])) for key in _DEFAULTS if key in found)
    return tuple(
        f"{key}: {value} where {mine} holds without this file: {_REMEDY}"
        for key, value, mine in checked
        if not _may(key, value, mine)
    )


def _may(key: str, value: object, mine: object) -> bool:
    if key == "budget.stop_usd":
        return cast(Decimal, value) <= cast(Decimal, mine)
    return value == mine or (key.startswith("approvals.") and value == _ASKING)
