"""The person's own configuration file: where it is, and its section `notifications`.

Workers of role `land` read that section themselves, so that addresses with passwords are in no
history and in no variable. All else of the file is read in `starter.configuration`.
"""

from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import Final

from pydantic import BaseModel

from activities.ports.land.notification_port import NotificationSettings, NotificationSettingsError
from activities.text.text_files import TextFileError, read_text_file
from activities.yaml_documents.model_reader import DocumentError, parse_document

FILE_NAME: Final = "blueflame.yaml"
MAX_FILE_BYTES: Final = 64 * 1024


class _Section(BaseModel, frozen=True, extra="ignore"):
    notifications: NotificationSettings = NotificationSettings()


def user_file() -> Path | None:
    """Return the path of the person's own configuration; None for an account without a home."""
    from platformdirs import user_config_path

    try:
        return user_config_path("blueflame", appauthor=False) / FILE_NAME
    except RuntimeError:
        return None


class _LocalZone(tzinfo):
    """The time zone of this machine, with the offset of each moment.

    `datetime.astimezone` alone gives today's offset, which is wrong on the next day if the clocks
    change in between.
    """

    def utcoffset(self, at: datetime | None) -> timedelta | None:
        """See the base class."""
        return None if at is None else at.replace(tzinfo=None).astimezone().utcoffset()

    def dst(self, at: datetime | None) -> timedelta | None:
        """See the base class: it is not told."""
        del at
        return None

    def tzname(self, at: datetime | None) -> str | None:
        """See the base class."""
        return None if at is None else at.replace(tzinfo=None).astimezone().tzname()


_LOCAL: Final = _LocalZone()


def local_now() -> datetime:
    """Return now, in the time zone of this machine; quiet hours are meant in it."""
    return datetime.now().replace(tzinfo=_LOCAL)  # noqa: DTZ005 (it knows which of a repeated hour)


def read_notifications() -> NotificationSettings:
    """Return the section `notifications` of the person's own file; without a file, no target.

    Raises:
        NotificationSettingsError: the file cannot be read, or the section is invalid.
    """
    file = user_file()
    if file is None or not file.exists():
        return NotificationSettings()
    try:
        text = read_text_file(file, MAX_FILE_BYTES)
        return parse_document(_Section, text, str(file)).notifications
    except (OSError, TextFileError, DocumentError) as error:
        raise NotificationSettingsError(
            f"{error}; correct it, then `blueflame notify --test`"
        ) from error
