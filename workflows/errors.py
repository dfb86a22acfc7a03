"""The types of the failures that cross from activities into workflows.

A type is the whole interface: workflows decide on it, adapters map their errors to it once.

ApplicationError.type
├── RateLimited          retried by Temporal after the provider's own delay; not billed
├── ProviderUnavailable  retried by Temporal; not billed
├── WaitTooLong          not retried: the provider asks for a long wait; the route has another model
├── CreditExhausted      not retried: a person pays, or the route falls back
├── AuthenticationFailed not retried: a person fixes the key
├── ContextOverflow      not retried as it is: the agent compacts
├── OutputTooLong        not retried as it is: the agent asks for less output
├── ModelUnusable        not retried: the route moves on, or a person changes something
├── PromptBlocked        not retried: a filter refuses what this agent sends
├── InvalidRequest       not retried: this request was wrong
├── OutcomeUnknown       not retried: may be billed, so charged at its quote and asked again
├── WorkerLost           the worker died during the call: tools are retried, model calls are not
├── BaseLacking          not retried as it is: the base is sent again, without exclusions
├── RepositoryRefused    the repository cannot be used as it is; the message says how to fix it
├── SandboxUnavailable   there is no sandbox on the host; the message says how to fix it
├── Fenced               a newer attempt or another checkpoint owns the worktree
├── StateDamaged         Blue Flame's own files on the host cannot be used: the attempt ends
├── SetupFailed          a command of `worktree.setup` failed
└── SettingsInvalid      not retried: a person corrects their configuration
"""

from enum import StrEnum


class FailureType(StrEnum):
    """`ApplicationError.type` of every failure that a workflow may decide on."""

    RATE_LIMITED = "RateLimited"
    PROVIDER_UNAVAILABLE = "ProviderUnavailable"
    WAIT_TOO_LONG = "WaitTooLong"
    CREDIT_EXHAUSTED = "CreditExhausted"
    AUTHENTICATION_FAILED = "AuthenticationFailed"
    CONTEXT_OVERFLOW = "ContextOverflow"
    OUTPUT_TOO_LONG = "OutputTooLong"
    MODEL_UNUSABLE = "ModelUnusable"
    PROMPT_BLOCKED = "PromptBlocked"
    INVALID_REQUEST = "InvalidRequest"
    OUTCOME_UNKNOWN = "OutcomeUnknown"
    WORKER_LOST = "WorkerLost"
    BASE_LACKING = "BaseLacking"
    REPOSITORY_REFUSED = "RepositoryRefused"
    SANDBOX_UNAVAILABLE = "SandboxUnavailable"
    FENCED = "Fenced"
    STATE_DAMAGED = "StateDamaged"
    SETUP_FAILED = "SetupFailed"
    SETTINGS_INVALID = "SettingsInvalid"


NEVER_RETRIED = (
    FailureType.WAIT_TOO_LONG,
    FailureType.CREDIT_EXHAUSTED,
    FailureType.AUTHENTICATION_FAILED,
    FailureType.CONTEXT_OVERFLOW,
    FailureType.OUTPUT_TOO_LONG,
    FailureType.MODEL_UNUSABLE,
    FailureType.PROMPT_BLOCKED,
    FailureType.INVALID_REQUEST,
    FailureType.OUTCOME_UNKNOWN,
    FailureType.BASE_LACKING,
    FailureType.REPOSITORY_REFUSED,
    FailureType.SANDBOX_UNAVAILABLE,
    FailureType.FENCED,
    FailureType.STATE_DAMAGED,
    FailureType.SETUP_FAILED,
)
"""Failures that a repeat of the same request cannot fix."""

UNKNOWN_OUTCOME = (
    FailureType.WORKER_LOST,
    "TemporalTimeout:StartToClose",
    "TemporalTimeout:Heartbeat",
)
"""A model call that ends like this may have been billed, so Temporal must not retry it. The prefix
is the server's own name for a time-out in a retry policy's non-retryable types."""

INTERNAL_ERRORS: tuple[type[Exception], ...] = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    BufferError,
    EOFError,
    ExceptionGroup,
    ImportError,
    LookupError,
    MemoryError,
    NameError,
    OSError,
    ReferenceError,
    RuntimeError,
    StopAsyncIteration,
    StopIteration,
    SyntaxError,
    SystemError,
    TypeError,
    ValueError,
)
"""Errors of workflow code that fail its workflow, so that its session hears of them. `Exception`
would include Temporal's own errors: code that does not fit its history must wait instead, until a
worker with fitting code comes."""
