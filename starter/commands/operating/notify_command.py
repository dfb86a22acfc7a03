"""`notify`: where messages about sessions go, and a test message to each of these places."""

from typing import TYPE_CHECKING, Annotated

import typer

from starter.console.command_errors import CommandError
from starter.console.exit_codes import ExitCode
from starter.console.nested_session import refuse_inside
from starter.console.terminal import command, write
from starter.input.session_options import JsonOption

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from activities.ports.land.notification_port import NotificationSettings
    from workers.local.trial_message import TriedTarget


@command
async def notify(
    *,
    test: Annotated[
        bool, typer.Option("--test", help="Send one message to each target now.")
    ] = False,
    json: JsonOption = False,
) -> ExitCode:
    """List where notifications go, or send a test message to each target."""
    from activities.ports.land.notification_port import NotificationSettingsError
    from starter.console import json_output
    from workers.own_file import read_notifications

    if test:
        refuse_inside("notify --test")
    try:
        settings = read_notifications()
    except NotificationSettingsError as error:
        raise CommandError(str(error)) from error
    if not test:
        return _list(settings, json=json)
    from workers.local.trial_message import send_test

    tried = await send_test(settings)
    if json:
        json_output.write_object(tried=tried)
    else:
        write(tried_lines(tried) if tried else [_nowhere()])
    has_arrived = bool(tried) and not any(each.fault for each in tried)
    return ExitCode.COMPLETE if has_arrived else ExitCode.FAILED


def _list(settings: "NotificationSettings", *, json: bool) -> ExitCode:
    from starter.console import json_output

    if json:
        targets = {**dict.fromkeys(settings.targets, "apprise")}
        targets |= dict.fromkeys(settings.webhooks, "webhook")
        return json_output.write_object(
            tell=settings.tell, targets=targets, quiet_hours=settings.quiet_hours
        )
    write(target_lines(settings) if settings.has_targets else [_nowhere()])
    return ExitCode.COMPLETE


def target_lines(settings: "NotificationSettings") -> "Iterator[str]":
    """Return the targets by name, without their addresses: those contain passwords."""
    yield f"messages about: {', '.join(settings.tell) or 'nothing'}"
    for name in settings.targets:
        yield f"  {name:<16} Apprise"
    for name in settings.webhooks:
        yield f"  {name:<16} webhook"
    if settings.quiet_hours is not None:
        yield f"quiet hours: {settings.quiet_hours}"


def tried_lines(tried: "Sequence[TriedTarget]") -> "Iterator[str]":
    """Return what became of each test message."""
    for each in tried:
        yield f"  {each.target:<16} {each.fault or 'sent'}"
    if any(each.fault for each in tried):
        yield "Correct the targets above in your configuration, and run `notify --test` again."


def _nowhere() -> str:
    from workers.own_file import user_file

    own = user_file() or "your own configuration file"
    return f"no target is configured; add `notifications.targets` to {str(own)!r}"
