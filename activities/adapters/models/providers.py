"""Builds the provider of a model when it is first called, and lets no known key out.

Every worker of role `models` holds one registry. It reads nothing from the environment: keys, base
URLs and the playbook are given. Known keys are replaced in what is sent and in what comes back, for
an agent may have found one in a file.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import TypeVar, assert_never

from pydantic import BaseModel, ConfigDict, Field

from activities.adapters.models.keys import KeyRing, KeySource
from activities.adapters.models.transport import IDLE, Transport
from activities.playbook import Playbook
from activities.ports.models import (
    AuthenticationFailedError,
    InvalidRequestError,
    ModelProvider,
    ModelReply,
    ModelRequest,
)
from activities.text import clean_json
from workflows.domain.models import ModelFacts, Provider

REDACTED = "[key]"

M = TypeVar("M", bound=BaseModel)


class ProviderSettings(BaseModel, frozen=True, extra="forbid"):
    """What the providers need to know; read once, where the process starts."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    keys: Mapping[Provider, KeySource] = Field(default_factory=dict[Provider, KeySource])
    """By provider: the key, or an asynchronous function that reads it anew."""
    base_urls: Mapping[Provider, str] = Field(default_factory=dict[Provider, str])
    """By provider: another server than the provider's own."""
    playbook: Playbook | None = None
    """What the provider `scripted` says."""
    trust_env: bool = True
    """Whether proxies named by the environment are used."""
    idle: timedelta = IDLE
    """The longest silence within a call before it is given up."""


class ProviderRegistry:
    """All providers of one process; implements `activities.ports.models.ModelProvider` for each."""

    def __init__(self, settings: ProviderSettings) -> None:
        """Args: keys, base URLs and the playbook. Nothing is imported or connected yet."""
        self._settings = settings
        self._keys = KeyRing(settings.keys)
        self._transport = Transport(trust_env=settings.trust_env, idle=settings.idle)
        self._providers: dict[Provider, ModelProvider] = {}

    async def call(self, request: ModelRequest) -> ModelReply:
        """Send a request to the provider of its model; see the port."""
        name = request.model.provider
        if name != "scripted":
            await self._keys.key(name)
        try:
            reply = await self.provider(request.model).call(_redacted(request, self._keys.known()))
        except AuthenticationFailedError:
            if name != "scripted":
                self._keys.distrust(name)
            raise
        return _redacted(reply, self._keys.known())

    def provider(self, model: ModelFacts) -> ModelProvider:
        """Return the provider that serves `model`, made when first asked for.

        Raises:
            InvalidRequestError: the model is scripted and there is no playbook.
        """
        if model.provider not in self._providers:
            self._providers[model.provider] = self._make(model.provider)
        return self._providers[model.provider]

    def rate_limits(self, host: str) -> Mapping[str, str]:
        """Return the rate-limit headers that `host` (with its port) sent last."""
        return self._transport.rate_limits(host)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._transport.aclose()

    def _make(self, name: Provider) -> ModelProvider:
        if name == "scripted":
            return self._scripted()
        base_url = self._settings.base_urls.get(name)
        match name:
            case "anthropic":
                from activities.adapters.models.anthropic import BASE_URL, AnthropicProvider

                return AnthropicProvider(self._transport, self._keys, base_url or BASE_URL)
            case "openai":
                from activities.adapters.models import openai

                return openai.OpenAIProvider(
                    self._transport, self._keys, base_url or openai.BASE_URL
                )
            case "google":
                from activities.adapters.models import gemini

                return gemini.GeminiProvider(
                    self._transport, self._keys, base_url or gemini.BASE_URL
                )
            case _:
                assert_never(name)

    def _scripted(self) -> ModelProvider:
        from activities.adapters.models.scripted import ScriptedProvider

        if self._settings.playbook is None:
            raise InvalidRequestError(
                "the provider 'scripted' has no playbook; name one, or choose another model"
            )
        return ScriptedProvider(self._settings.playbook)


def _redacted(value: M, keys: tuple[str, ...]) -> M:
    """Replace every known key anywhere in `value`; the same object where there is none."""
    if not keys:
        return value
    try:
        text = value.model_dump_json()
    except ValueError:
        # A lone surrogate; the providers' boundary would replace it as well.
        value = type(value).model_validate(clean_json(value.model_dump(mode="python")))
        text = value.model_dump_json()
    found = [key for key in keys if key in text]
    if not found:
        return value
    for key in found:
        text = text.replace(key, REDACTED)
    return type(value).model_validate_json(text)
