"""Becoming the host's unprivileged user, and what a process of the host keeps in reach."""

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
    """Drop root for good by executing a module again; return at once if this process is not root.

    Toolchains and the person's settings of package tools are read first, with root's rights:
    afterwards a closed home is covered except for the toolchains' directories. The next process is
    given what was found.

    Args:
        settings: those of this process.
        module: what to execute, as after `python -m`.
        arguments: those of its command line.

    Raises:
        PrivilegeError: root cannot be dropped safely.
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
