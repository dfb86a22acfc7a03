"""Classifies every failure that a provider reports, by its status code and its words.

Adapters read their dialect's error body into `Reported`; only this module decides what it means. It
knows no SDK.
"""

import re
from collections.abc import Callable
from datetime import timedelta

from pydantic import BaseModel

from activities.ports.model_provider import (
    AuthenticationFailedError,
    ContextOverflowError,
    CreditExhaustedError,
    InvalidRequestError,
    ModelError,
    OutcomeUnknownError,
    ProviderUnavailableError,
    RateLimitedError,
)

_OVERFLOW = re.compile(
    r"prompt is too long|context[ _]length|context window|maximum context|input token count"
    r"|exceeds? the (maximum|model'?s?) .*tokens|request too large|available context size",
    re.IGNORECASE,
)
_CREDIT = re.compile(r"credit balance|insufficient (credit|funds)|billing|spend", re.IGNORECASE)
_BAD_KEY = re.compile(r"api[ _]key[ _](not valid|invalid|expired)", re.IGNORECASE)

_UNPAID, _TOO_LARGE, _TOO_MANY, _SERVER, _GATEWAY_TIMEOUT = 402, 413, 429, 500, 504


class Reported(BaseModel, frozen=True, extra="forbid"):
    """A provider's failure in common terms."""

    provider: str
    status: int
    """The HTTP status; 200 if the failure came inside an answer."""
    codes: frozenset[str] = frozenset()
    """Every machine-readable code or type in the body."""
    message: str = ""
    retry_after: timedelta | None = None


_CREDIT_CODES = frozenset(
    {
        "insufficient_quota",
        "billing_error",
        "billing_hard_limit_reached",
        "billing_not_active",
        "enforced_spend_limit_reached",
        "contract_spend_limit_reached",
        "daily_quota",
    }
)
_KEY_CODES = frozenset(
    {
        "authentication_error",
        "permission_error",
        "invalid_api_key",
        "API_KEY_INVALID",
        "API_KEY_EXPIRED",
        "API_KEY_SERVICE_BLOCKED",
    }
)
_OVERFLOW_CODES = frozenset(
    {
        "context_length_exceeded",
        "exceed_context_size_error",
        "request_too_large",
        "string_above_max_length",
    }
)
_RATE_CODES = frozenset({"rate_limit_error", "rate_limit_exceeded", "RESOURCE_EXHAUSTED"})
_OVERLOAD_CODES = frozenset({"overloaded_error", "api_error", "server_error", "UNAVAILABLE"})


def decide(report: Reported) -> ModelError:
    """Decide what a reported failure means; the first matching row counts.

    | row                                                 | decision             |
    |-----------------------------------------------------|----------------------|
    | 402, or credit, quota or billing reported used up   | CreditExhausted      |
    | 401, 403, or a key reported as invalid              | AuthenticationFailed |
    | 413, or the context reported as too long            | ContextOverflow      |
    | 429                                                 | RateLimited          |
    | 504 (the provider gave up; it may have billed)      | OutcomeUnknown       |
    | 408, 409, other 5xx, or overload reported           | ProviderUnavailable  |
    | anything else                                       | InvalidRequest       |
    """
    text = f"{report.provider} answered {report.status}: {report.message or 'no message'}"
    kind = next((kind for kind, fits in _ROWS if fits(report)), InvalidRequestError)
    if issubclass(kind, RateLimitedError | ProviderUnavailableError):
        return kind(text, report.retry_after)
    return kind(text)


def _says(pattern: re.Pattern[str], report: Reported) -> bool:
    """Words count only in refusals (4xx): a 5xx page may say anything."""
    return report.status < _SERVER and pattern.search(report.message) is not None


def _is_unpaid(report: Reported) -> bool:
    # Gemini mentions billing in every 429, so for it only a code counts.
    said = report.status != _TOO_MANY and _says(_CREDIT, report)
    return report.status == _UNPAID or bool(report.codes & _CREDIT_CODES) or said


def _is_unknown_key(report: Reported) -> bool:
    named = bool(report.codes & _KEY_CODES) or _says(_BAD_KEY, report)
    return report.status in {401, 403} or named


def _is_too_long(report: Reported) -> bool:
    named = bool(report.codes & _OVERFLOW_CODES) or _says(_OVERFLOW, report)
    return report.status == _TOO_LARGE or named


def _is_too_fast(report: Reported) -> bool:
    return report.status == _TOO_MANY or bool(report.codes & _RATE_CODES)


def _is_overloaded(report: Reported) -> bool:
    busy = report.status in {408, 409} or report.status >= _SERVER
    return busy or bool(report.codes & _OVERLOAD_CODES)


_ROWS: tuple[tuple[type[ModelError], Callable[[Reported], bool]], ...] = (
    (CreditExhaustedError, _is_unpaid),
    (AuthenticationFailedError, _is_unknown_key),
    (ContextOverflowError, _is_too_long),
    (RateLimitedError, _is_too_fast),
    (OutcomeUnknownError, lambda report: report.status == _GATEWAY_TIMEOUT),
    (ProviderUnavailableError, _is_overloaded),
)
