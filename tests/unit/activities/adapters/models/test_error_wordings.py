"""Refusals as real servers word them, each as a plain 400, and what they mean."""

import re

import pytest

from activities.adapters.models.error_classes import Reported, decide
from activities.adapters.models.error_wordings import WORDINGS, Meaning, meaning_of

OVERFLOW: list[tuple[int, str]] = [
    (400, "prompt is too long: 213462 tokens > 200000 maximum"),
    (400, "This model's maximum context length is 8192 tokens. However, you sent 8202 tokens."),
    (400, "The input token count (1200000) exceeds the maximum number of tokens (1048576)."),
    (429, "Request too large for gpt on tokens per min (TPM): Limit 30000, Requested 41000."),
    (400, "Please reduce the length of the messages or completion."),
    (400, "litellm.ContextWindowExceededError: context_window_exceeded"),
    (400, "request (4390 tokens) exceeds the available context size (4096 tokens)"),
    (500, "the request exceeds the available context size. try increasing the context size"),
    (500, "Context size has been exceeded."),
    (400, "input length and `max_tokens` exceed context limit: 199999 + 8192 > 200000, decrease"),
    (
        400,
        "maximum context length is 16384 tokens (112946 in the messages, 10000 in the completion)",
    ),
    (400, "passed 9753 input tokens and requested 9 output tokens; context length is only 9752"),
    (400, "Your input exceeds the context window of this model."),
    (400, "Requested tokens (2285) exceed context window of 2048"),
    (400, "prompt too long; exceeded max context length by 12 tokens"),
    (400, "This model's maximum prompt length is 131072 but the request contains 140000 tokens."),
    (400, "Input is too long for requested model."),
    (400, "invalid params, context window exceeds limit (2013)"),
    (400, "Invalid request: Your request exceeded model token limit: 262144"),
    (400, "Prompt contains 40000 tokens, too large for model with 32768 maximum context length"),
    (400, "prompt token count of 130000 exceeds the limit of 128000"),
    (429, "Extra usage is required for long context requests."),
]
OUTPUT = [
    "input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease",
    "maximum context length is 4097 tokens (2860 in your prompt; 1256 for the completion)",
    "context length of 163840 tokens. You requested a total of 183491 tokens: 19651 tokens from",
    "'max_tokens' is too large: 10000. This model's maximum context length is 16384 tokens",
    "You passed 10000 input tokens and requested 6400 output tokens; context length is only 13107",
    "max_tokens: 64000 > 32000, which is the maximum allowed number of output tokens",
    "max_tokens is too large: 100000. This model supports at most 16384 completion tokens",
    "it has a maxOutputTokens value of 99999 but the supported range is from 1 to 65537",
]
CREDIT = [
    "You have reached your specified API usage limits. You will regain access on 2026-04-01",
    "Your credit balance is too low to access the API.",
    "You exceeded your current quota, please check your plan and billing details.",
    "Billing hard limit has been reached",
    "Please enable billing.",
    "Your prepayment credits are depleted.",
    "Insufficient Balance",
    "Your team has used all available credits or reached its monthly spending limit.",
]
KEY = [
    "This organization has been disabled.",
    "Permission denied: Consumer 'api_key:x' has been suspended.",
    "Your API key was reported as leaked. Please use another API key.",
    "Your account acme is suspended",
    "The project has been deactivated",
    "User location is not supported for the API use.",
    "Country, region, or territory not supported",
    "API Key not found. Please pass a valid API key.",
    "Incorrect API key provided",
]
MODEL = [
    "tools.12.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12",
    "Invalid schema for function 'bash': None is not of type 'object'",
    'Invalid JSON payload received. Unknown name "x" at tools[0].function_declarations[0]',
    "registry.ollama.ai/library/gemma does not support tools",
    "No endpoints found that support tool use.",
    '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
    "Unsupported parameter: 'reasoning.effort' is not supported with this model.",
    "output_config: Extra inputs are not permitted",
    "Your organization must be verified to stream this model.",
    "The requested model 'nope' does not exist.",
    "Project `p` does not have access to model `gpt`",
    "The model `llama` has been decommissioned and is no longer supported.",
    "nope/nope is not a valid model ID",
    "Invalid model: nope",
    "No models loaded. Please load a model",
    "models/nope is not found for API version v1beta",
]
REQUEST = [
    "messages.5.content.2.image.source.base64: image exceeds 5 MB maximum: 6500712 > 5242880",
    "Could not process image",
    "image dimensions exceed max allowed size: 8000 pixels",
    "You uploaded an unsupported image. Please make sure your image is valid.",
    "Unable to process input image. Please retry or report",
    "this model does not support image input",
    "image input is not supported - hint: you may need to provide the mmproj",
    "something that no one has said before",
]
BLOCKED = [
    "The response was filtered due to the prompt triggering content management policy.",
    "Invalid prompt: your prompt was flagged as potentially violating our usage policy.",
    "Your request was rejected by the safety system",
    "Model requires moderation. Your input was flagged",
    "Output blocked by content filtering policy",
]
REPLAY = [
    "The `reasoning_content` in the thinking mode must be passed back to the API.",
    "Missing `reasoning_content` field in the assistant message at message index 2.",
    "The reasoning_text in the thinking mode must be passed back to the API.",
]
SAID: list[tuple[str, int, str]] = [
    *[(words, status, "ContextOverflowError") for status, words in OVERFLOW],
    *[(words, 400, "OutputTooLongError") for words in OUTPUT],
    *[(words, 400, "CreditExhaustedError") for words in CREDIT],
    *[(words, 400, "AuthenticationFailedError") for words in KEY],
    *[(words, 400, "ModelUnusableError") for words in [*MODEL, *REPLAY]],
    ("tools param requires --jinja flag", 500, "ModelUnusableError"),
    *[(words, 400, "InvalidRequestError") for words in REQUEST],
    *[(words, 400, "PromptBlockedError") for words in BLOCKED],
]


@pytest.mark.parametrize(("words", "status", "kind"), SAID)
def test_words_alone_tell_what_is_at_fault(words: str, status: int, kind: str) -> None:
    """Field report G11, and its relatives."""
    error = decide(Reported(provider="p", status=status, message=words))
    assert type(error).__name__ == kind
    assert words in str(error)


def test_each_row_has_an_example() -> None:
    said = "\n".join(words for words, _, _ in SAID)
    rows = [re.compile(each.words, re.IGNORECASE) for each in WORDINGS]
    assert [row.pattern for row in rows if not row.search(said)] == []


@pytest.mark.parametrize("words", [*CREDIT, *KEY, *MODEL, *OUTPUT])
def test_the_page_of_a_5xx_may_say_anything(words: str) -> None:
    kept: set[Meaning | None] = {None, "overflow", "model"}
    assert meaning_of(words, 503) in kept


@pytest.mark.parametrize("words", REPLAY)
def test_a_server_that_wants_its_reasoning_back_is_told_how(words: str) -> None:
    """Field report G14."""
    error = decide(Reported(provider="deepseek", status=400, message=words))
    assert "`reasoning_replay: true`" in str(error)


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (403, "model_not_found", "ModelUnusableError"),
        (404, "", "ModelUnusableError"),
        (302, "", "ModelUnusableError"),
        (400, "invalid_function_parameters", "ModelUnusableError"),
        (400, "content_filter", "PromptBlockedError"),
        (403, "unsupported_country_region_territory", "AuthenticationFailedError"),
        (403, "CONSUMER_SUSPENDED", "AuthenticationFailedError"),
        (403, "", "AuthenticationFailedError"),
        (429, "exceeded_current_quota_error", "CreditExhaustedError"),
        (400, "context_window_exceeded", "ContextOverflowError"),
        (418, "", "InvalidRequestError"),
    ],
)
def test_a_status_or_a_code_is_enough(status: int, code: str, kind: str) -> None:
    codes = frozenset({code} - {""})
    error = decide(Reported(provider="p", status=status, codes=codes, message="no"))
    assert type(error).__name__ == kind
