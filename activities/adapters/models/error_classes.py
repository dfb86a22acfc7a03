"""Classifies every failure that a provider reports, by its status code, its codes and its words.

Adapters read their dialect's error body into `Reported`; only this module decides what it means.
The words are in `error_wordings`. It knows no SDK.
"""

from collections.abc import Callable
from datetime import timedelta

from pydantic import BaseModel

from activities.adapters.models.error_wordings import Meaning, meaning_of
from activities.ports.model_provider import (
    AuthenticationFailedError,
    ContextOverflowError,
    CreditExhaustedError,
    InvalidRequestError,
    ModelError,
    ModelUnusableError,
    OutcomeUnknownError,
    OutputTooLongError,
    PromptBlockedError,
    ProviderUnavailableError,
    RateLimitedError,
)

_UNPAID, _TOO_LARGE, _TOO_MANY = 402, 413, 429
_NOWHERE = frozenset({404, 410, *range(300, 400)})
_SERVER, _GATEWAY_TIMEOUT = 500, 504
_REPLAY = (
    "; set `reasoning_replay: true` under `abilities` of this provider in your own configuration,"
    " start the workers again, and resume"
)


class Reported(BaseModel, frozen=True, extra="forbid"):
    """A provider's failure in common terms."""

    provider: str
    status: int
    """The HTTP status; 200 if the failure came inside an answer."""
    codes: frozenset[str] = frozenset()
    """Every machine-readable code or type in the body."""
    message: str = ""
    retry_after: timedelta | None = None

    def has(self, codes: frozenset[str]) -> bool:
        """Whether one of the codes was reported."""
        return bool(self.codes & codes)

    def means(self, *meanings: Meaning) -> bool:
        """Whether the words have one of these meanings."""
        return meaning_of(self.message, self.status) in meanings


_BLOCKED_CODES = frozenset(
    {
        "content_filter",
        "content_policy_violation",
        "invalid_prompt",
        "ResponsibleAIPolicyViolation",
    }
)
_MODEL_CODES = frozenset(
    {
        "model_not_found",
        "model_decommissioned",
        "invalid_function_parameters",
        "unsupported_parameter",
        "unsupported_value",
        "unknown_parameter",
    }
)
_CREDIT_CODES = frozenset(
    {
        "insufficient_quota",
        "billing_error",
        "billing_hard_limit_reached",
        "billing_not_active",
        "enforced_spend_limit_reached",
        "contract_spend_limit_reached",
        "exceeded_current_quota_error",
        "daily_quota",
    }
)
_KEY_CODES = frozenset(
    {
        "authentication_error",
        "permission_error",
        "invalid_api_key",
        "account_deactivated",
        "unsupported_country_region_territory",
        "API_KEY_INVALID",
        "API_KEY_EXPIRED",
        "API_KEY_SERVICE_BLOCKED",
        "CONSUMER_SUSPENDED",
        "SERVICE_DISABLED",
    }
)
_OVERFLOW_CODES = frozenset(
    {
        "context_length_exceeded",
        "context_window_exceeded",
        "exceed_context_size_error",
        "request_too_large",
        "string_above_max_length",
    }
)
_RATE_CODES = frozenset({"rate_limit_error", "rate_limit_exceeded", "RESOURCE_EXHAUSTED"})
_OVERLOAD_CODES = frozenset({"overloaded_error", "api_error", "server_error", "UNAVAILABLE"})


def decide(report: Reported) -> ModelError:
    """Decide what a reported failure means; the first matching row counts.

    | row                                                       | decision             |
    |-----------------------------------------------------------|----------------------|
    | a filter refuses the prompt                               | PromptBlocked        |
    | the model, its tools or a parameter is refused by name    | ModelUnusable        |
    | 402, or credit, quota or billing reported used up         | CreditExhausted      |
    | the requested output, or prompt and output, is too long   | OutputTooLong        |
    | 413, or the prompt reported as too long                   | ContextOverflow      |
    | 401, 403, or key, account or region reported as refused   | AuthenticationFailed |
    | 404, 410, 3xx: no such model, or no such address          | ModelUnusable        |
    | 429                                                       | RateLimited          |
    | 504 (the provider gave up; it may have billed)            | OutcomeUnknown       |
    | 408, 409, other 5xx, or overload reported                 | ProviderUnavailable  |
    | anything else                                             | InvalidRequest       |
    """
    text = f"{report.provider} answered {report.status}: {report.message or 'no message'}"
    kind = next((kind for kind, fits in _ROWS if fits(report)), InvalidRequestError)
    if issubclass(kind, RateLimitedError | ProviderUnavailableError):
        return kind(text, report.retry_after)
    return kind(text + (_REPLAY if report.means("reasoning_replay") else ""))


def _is_unpaid(report: Reported) -> bool:
    # Gemini mentions billing in every 429, so for it only a code counts.
    said = report.status != _TOO_MANY and report.means("credit")
    return report.status == _UNPAID or report.has(_CREDIT_CODES) or said


def _is_too_long(report: Reported) -> bool:
    named = report.has(_OVERFLOW_CODES) or report.means("overflow")
    return report.status == _TOO_LARGE or named


def _is_unknown_key(report: Reported) -> bool:
    named = report.has(_KEY_CODES) or report.means("key")
    return report.status in {401, 403} or named


def _is_too_fast(report: Reported) -> bool:
    return report.status == _TOO_MANY or report.has(_RATE_CODES)


def _is_overloaded(report: Reported) -> bool:
    busy = report.status in {408, 409} or report.status >= _SERVER
    return busy or report.has(_OVERLOAD_CODES)


_ROWS: tuple[tuple[type[ModelError], Callable[[Reported], bool]], ...] = (
    (InvalidRequestError, lambda report: report.means("request")),
    (PromptBlockedError, lambda report: report.has(_BLOCKED_CODES) or report.means("blocked")),
    (
        ModelUnusableError,
        lambda report: report.has(_MODEL_CODES) or report.means("model", "reasoning_replay"),
    ),
    (CreditExhaustedError, _is_unpaid),
    (OutputTooLongError, lambda report: report.means("output")),
    (ContextOverflowError, _is_too_long),
    (AuthenticationFailedError, _is_unknown_key),
    (ModelUnusableError, lambda report: report.status in _NOWHERE),
    (RateLimitedError, _is_too_fast),
    (OutcomeUnknownError, lambda report: report.status == _GATEWAY_TIMEOUT),
    (ProviderUnavailableError, _is_overloaded),
)
