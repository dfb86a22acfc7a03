"""Turns a process's settings into what the model adapters need: keys, addresses, playbook."""

from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import SecretStr

from activities.ports.endpoints import endpoints
from workers.key_sources import KeySource, key_source
from workers.settings import Settings
from workflows.domain.agent.model_values import Provider

if TYPE_CHECKING:
    from activities.adapters.models.providers import ProviderSettings


def provider_settings(settings: Settings) -> "ProviderSettings":
    """Return keys, base URLs and the playbook in the adapters' form.

    Raises:
        DocumentError: the playbook cannot be read; the message names line and column.
    """
    from activities.adapters.models.providers import ProviderSettings
    from activities.adapters.models.scripted.playbook import read_playbook

    playbook = None if settings.playbook is None else read_playbook(settings.playbook)
    return ProviderSettings(
        keys=_keys(settings),
        base_urls=_urls(settings),
        entries=settings.providers,
        playbook=playbook,
    )


def require_playbook(path: Path) -> None:
    """Check that a worker could read a playbook.

    Raises:
        DocumentError: it cannot be read; the message names line and column.
    """
    from activities.adapters.models.scripted.playbook import read_playbook

    read_playbook(path)


def addresses(settings: Settings) -> dict[Provider, str]:
    """Return every known provider's base URL: the configured one, or the provider's own."""
    from activities.adapters.models import anthropic, gemini, openai

    own = {
        "anthropic": anthropic.BASE_URL,
        "openai": openai.BASE_URL,
        "google": gemini.BASE_URL,
    }
    return own | _urls(settings) | _compatible(settings)


def _compatible(settings: Settings) -> dict[Provider, str]:
    entries = endpoints(settings.providers).items()
    return {name: entry.base_url for name, entry in entries if entry.base_url is not None}


def known_keys(settings: Settings) -> tuple[str, ...]:
    """Return the keys in the environment; those of files and commands are not read."""
    given = [key for key in _keys(settings).values() if isinstance(key, SecretStr)]
    return tuple(key.get_secret_value().strip() for key in given)


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
