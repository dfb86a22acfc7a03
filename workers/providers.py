"""From a process's settings to what the model adapters need; only role `models` calls it."""

from typing import TYPE_CHECKING

from workers.secrets import KeySource, key_source
from workers.settings import Settings
from workflows.domain.models import Provider

if TYPE_CHECKING:
    from activities.adapters.models.providers import ProviderSettings


def provider_settings(settings: Settings) -> "ProviderSettings":
    """Return keys, base URLs and the playbook as the adapters take them.

    Raises:
        DocumentError: the playbook cannot be read; the message names line and column.
    """
    from activities.adapters.models.providers import ProviderSettings
    from activities.playbook import read_playbook

    playbook = None if settings.playbook is None else read_playbook(settings.playbook)
    return ProviderSettings(
        keys=_keys(settings),
        base_urls=_urls(settings),
        entries=settings.providers,
        playbook=playbook,
    )


def _keys(settings: Settings) -> dict[Provider, KeySource]:
    google = settings.gemini_api_key or settings.google_api_key
    given: dict[Provider, KeySource | None] = {
        "anthropic": key_source(
            settings.anthropic_api_key,
            settings.anthropic_api_key_file,
            settings.anthropic_api_key_command,
        ),
        "openai": key_source(
            settings.openai_api_key, settings.openai_api_key_file, settings.openai_api_key_command
        ),
        "google": key_source(google, settings.gemini_api_key_file, settings.gemini_api_key_command),
    }
    given |= settings.endpoint_keys
    return {provider: source for provider, source in given.items() if source is not None}


def _urls(settings: Settings) -> dict[Provider, str]:
    given: dict[Provider, str | None] = {
        "anthropic": settings.anthropic_base_url,
        "openai": settings.openai_base_url,
        "google": settings.gemini_base_url,
    }
    return {provider: url for provider, url in given.items() if url is not None}
