"""Becoming the host's unprivileged user: what a process of the host keeps in reach when it does."""

import os
import sys
from collections.abc import Sequence

from activities.adapters.sandbox.blueflame_programs import worker_prefixes
from workers.hosting.data_layout import packages_root
from workers.hosting.offered_toolchains import offered_toolchains
from workers.hosting.privileges import PrivilegePlan, enter, prepare_data_dir
from workers.hosting.told_registries import PREFIXES, hand_over, person_settings
from workers.settings import Settings


def become_host_user(settings: Settings, module: str, arguments: Sequence[str]) -> None:
    """Give up root for good by executing a module again; return at once where we are not root.

    Toolchains are resolved before, with root's eyes: afterwards a closed home is covered, and only
    what they lead to is left of it. So are the person's settings of package tools. The process that
    follows is told what was found.

    Args:
        settings: of this process.
        module: what to execute, as after `python -m`.
        arguments: of its command line.

    Raises:
        PrivilegeError: root cannot be given up in order.
    """
    if os.geteuid() != 0:
        return
    toolchains = offered_toolchains(settings)
    told = settings.evolve(toolchains=dict(toolchains.places))
    writable = prepare_data_dir(settings.data_dir, settings.host_uid, settings.host_gid)
    enter(
        PrivilegePlan(
            argv=(sys.executable, "-P", "-m", module, *arguments),
            cwd=settings.host_dir,
            writable=writable,
            readable=(packages_root(), *worker_prefixes(), *toolchains.places.values()),
            uid=settings.host_uid,
            gid=settings.host_gid,
            env=(
                ("BLUEFLAME_TOOLCHAINS", told.toolchains_json()),
                ("BLUEFLAME_TOOL_SETTINGS_FD", str(hand_over(person_settings(settings)))),
            ),
            dropped_env=PREFIXES,
        )
    )
